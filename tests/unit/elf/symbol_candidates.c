/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/symbol_candidates.h"

#include <errno.h>

#include "tests/test.h"
#include "tests/unit/elf/fixture.h"

enum { TEXT = 0x1000, TEXT_LEN = 0x100, MORE = 0x1080, MORE_LEN = 0x180, ISLAND = 0x5000 };

/* A file with executable sections, and the symbols that a test adds. */
struct symbol_file {
	struct fixture elf;
	struct buf syms, dynsyms, strs;
	uint32_t text, data;
	struct candidates cs;
};

static void add_section(struct symbol_file *f, const char *name, uint64_t flags, uint64_t vaddr,
			size_t len, uint32_t *out)
{
	static const uint8_t zeros[MORE_LEN];

	*out = fixture_add(&f->elf, name, SHT_PROGBITS, zeros, len);
	f->elf.sh[*out].sh_flags = flags;
	f->elf.sh[*out].sh_addr = vaddr;
}

static int symbol_setup(void **state)
{
	const Elf64_Sym none = { 0 };
	struct symbol_file *f = calloc(1, sizeof(*f));
	uint32_t unused;

	if (!f)
		return -1;
	fixture_init(&f->elf);
	add_section(f, ".text", SHF_ALLOC | SHF_EXECINSTR, TEXT, TEXT_LEN, &f->text);
	add_section(f, ".more", SHF_ALLOC | SHF_EXECINSTR, MORE, MORE_LEN, &unused);
	add_section(f, ".island", SHF_ALLOC | SHF_EXECINSTR, ISLAND, 0x10, &unused);
	add_section(f, ".not_loaded", SHF_EXECINSTR, 0x6000, 0x10, &unused);
	add_section(f, ".data", SHF_ALLOC | SHF_WRITE, 0x7000, 0x10, &f->data);
	buf_put(&f->syms, &none, sizeof(none));
	buf_put(&f->dynsyms, &none, sizeof(none));
	buf_put_byte(&f->strs, 0);
	*state = f;
	return 0;
}

static int symbol_teardown(void **state)
{
	struct symbol_file *f = *state;

	candidates_fini(&f->cs);
	fixture_fini(&f->elf);
	buf_fini(&f->syms);
	buf_fini(&f->dynsyms);
	buf_fini(&f->strs);
	free(f);
	return 0;
}

static void add(struct symbol_file *f, bool dynamic, const char *name, uint8_t info, uint64_t vaddr,
		uint64_t size, uint32_t shndx)
{
	const Elf64_Sym s = { .st_name = (uint32_t)f->strs.len,
			      .st_info = info,
			      .st_shndx = (uint16_t)shndx,
			      .st_value = vaddr,
			      .st_size = size };

	buf_put(dynamic ? &f->dynsyms : &f->syms, &s, sizeof(s));
	buf_put(&f->strs, name, strlen(name) + 1);
}

/* Adds a global function in .symtab. */
static void add_function(struct symbol_file *f, const char *name, uint64_t vaddr, uint64_t size)
{
	add(f, false, name, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), vaddr, size, f->text);
}

static void add_table(struct symbol_file *f, const char *name, uint32_t type, const struct buf *b,
		      uint32_t strs)
{
	uint32_t i = fixture_add(&f->elf, name, type, b->data, b->len);

	f->elf.sh[i].sh_entsize = sizeof(Elf64_Sym);
	f->elf.sh[i].sh_link = strs;
}

static int collect(struct symbol_file *f, unsigned int sources)
{
	uint32_t strs = fixture_add(&f->elf, ".strtab", SHT_STRTAB, f->strs.data, f->strs.len);

	add_table(f, ".symtab", SHT_SYMTAB, &f->syms, strs);
	add_table(f, ".dynsym", SHT_DYNSYM, &f->dynsyms, strs);
	f->cs.img = fixture_open(&f->elf);
	return candidates_collect(&f->cs, sources);
}

static void check_name(struct symbol_file *f, const struct candidate *c, const char *want)
{
	struct alias_name n = candidates_name(&f->cs, c);

	assert_int_equal(n.len, strlen(want));
	assert_memory_equal(n.s, want, n.len);
}

static void functions_in_code_are_candidates_in_the_order_of_the_table(void **state)
{
	struct symbol_file *f = *state;

	add_function(f, "b", TEXT + 0x20, 0x10);
	add_function(f, "a", TEXT, 0x10);
	add(f, false, "ifunc", ELF64_ST_INFO(STB_WEAK, STT_GNU_IFUNC), TEXT + 0x40, 1, f->text);
	add(f, false, "object", ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), TEXT, 0, f->text);
	add(f, false, "section", ELF64_ST_INFO(STB_LOCAL, STT_SECTION), TEXT, 8, f->text);
	add(f, false, "undefined", ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), TEXT, 8, SHN_UNDEF);
	add(f, false, "common", ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), TEXT, 8, SHN_COMMON);
	add_function(f, "in data", 0x7000, 8);
	add_function(f, "not loaded", 0x6000, 8);
	add_function(f, "nowhere", UINT64_MAX, 8);
	assert_int_equal(collect(f, ELF_SYMTAB), 0);
	assert_int_equal(f->cs.all.len, 3);
	check_name(f, &f->cs.all.data[0], "b");
	check_name(f, &f->cs.all.data[1], "a");
	check_name(f, &f->cs.all.data[2], "ifunc");
	assert_int_equal(f->cs.all.data[0].vaddr, TEXT + 0x20);
	assert_int_equal(f->cs.all.data[0].size, 0x10);
	assert_int_equal(f->cs.all.data[0].bind, ALIAS_GLOBAL);
	assert_int_equal(f->cs.all.data[2].bind, ALIAS_WEAK);
}

static void sizes_end_with_the_code(void **state)
{
	struct symbol_file *f = *state;
	static const struct {
		uint64_t vaddr, left;
	} cases[] = {
		{ TEXT - 1, 0 },
		{ TEXT, 0x200 }, /* both sections, which overlap */
		{ MORE, 0x180 },
		{ MORE + MORE_LEN - 1, 1 },
		{ MORE + MORE_LEN, 0 },
		{ ISLAND, 0x10 },
		{ ISLAND + 0x10, 0 },
		{ UINT64_MAX, 0 },
		{ 0, 0 },
	};

	add_function(f, "f", TEXT, UINT64_MAX);
	assert_int_equal(collect(f, ELF_SYMTAB), 0);
	assert_int_equal(f->cs.all.data[0].size, 0x200);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct candidate c = { .vaddr = cases[i].vaddr };

		assert_int_equal(candidates_code_left(&f->cs, cases[i].vaddr), cases[i].left);
		assert_int_equal(candidates_clip(&f->cs, &c, 0x1000), cases[i].left > 0);
		assert_int_equal(c.size, cases[i].left);
	}
}

static void sizes_over_4_gib_are_clipped(void **state)
{
	struct symbol_file *f = *state;

	f->elf.sh[f->text].sh_size = 1ULL << 40; /* The header alone determines the range. */
	add_function(f, "f", TEXT, 1ULL << 36);
	assert_int_equal(collect(f, ELF_SYMTAB), 0);
	assert_int_equal(f->cs.all.data[0].size, UINT32_MAX);
	assert_int_equal(candidates_code_left(&f->cs, TEXT), 1ULL << 40);
}

static void a_section_that_wraps_has_no_code(void **state)
{
	struct symbol_file *f = *state;

	f->elf.sh[f->text].sh_addr = UINT64_MAX - 8;
	add_function(f, "f", UINT64_MAX - 8, 4);
	assert_int_equal(collect(f, ELF_SYMTAB), 0);
	assert_int_equal(f->cs.all.len, 0);
	assert_int_equal(candidates_code_left(&f->cs, UINT64_MAX - 8), 0);
}

static void labels_are_candidates_but_marks_of_tools_are_not(void **state)
{
	static const char *const labels[] = { "loop", "$", "$a1", "$y", "a.b", "_start" };
	static const char *const marks[] = { ".L1", "$x", "$d", "$a", "$t", "$x.foo", "" };
	uint8_t info = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE);
	struct symbol_file *f = *state;

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		add(f, false, marks[i], info, TEXT, 0, f->text);
	for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++)
		add(f, false, labels[i], info, TEXT + i, 0, f->text);
	add(f, false, "absolute", info, TEXT, 0, SHN_ABS);
	add(f, true, "dynamic", info, TEXT, 0, f->text);
	assert_int_equal(collect(f, ELF_SYMTAB | ELF_DYNSYM), 0);
	assert_int_equal(f->cs.all.len, sizeof(labels) / sizeof(*labels) + 1);
	for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++) {
		check_name(f, &f->cs.all.data[i], labels[i]);
		assert_int_equal(f->cs.all.data[i].level, LEVEL_SYMTAB_LABEL);
		assert_int_equal(f->cs.all.data[i].bind, ALIAS_LOCAL);
	}
	assert_int_equal(f->cs.all.data[sizeof(labels) / sizeof(*labels)].level,
			 LEVEL_DYNSYM_LABEL);
}

/* Many of GHC's functions have the type of data. */
static void objects_in_code_are_candidates_if_they_have_a_size(void **state)
{
	const uint8_t info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
	struct symbol_file *f = *state;

	add(f, false, "stg_ap_3_upd_info", info, TEXT, 46, f->text);
	add(f, false, "table", info, TEXT + 46, 0, f->text);
	add(f, false, "in data", info, 0x7000, 8, f->data);
	assert_int_equal(collect(f, ELF_SYMTAB), 0);
	assert_int_equal(f->cs.all.len, 1);
	check_name(f, &f->cs.all.data[0], "stg_ap_3_upd_info");
	assert_int_equal(f->cs.all.data[0].level, LEVEL_SYMTAB_LABEL);
	assert_int_equal(f->cs.all.data[0].size, 46);
}

static void only_the_requested_tables_are_read(void **state)
{
	struct symbol_file *f = *state;

	add_function(f, "static", TEXT, 8);
	add(f, true, "dynamic@@V1", ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), TEXT, 8, f->text);
	assert_int_equal(collect(f, ELF_DYNSYM), 0);
	assert_int_equal(f->cs.all.len, 1);
	assert_int_equal(f->cs.all.data[0].level, LEVEL_DYNSYM_FUNCTION);
	check_name(f, &f->cs.all.data[0], "dynamic"); /* without its version */
}

static int refuse(struct candidates *cs, struct candidate c, uint64_t size)
{
	assert_int_equal(size, UINT64_MAX); /* not clipped */
	++*(int *)cs->ctx;
	return 7;
}

static void a_consumer_may_end_the_collection(void **state)
{
	struct symbol_file *f = *state;
	int n = 0;

	add_function(f, "a", TEXT, UINT64_MAX);
	add_function(f, "b", TEXT, UINT64_MAX);
	f->cs.take = refuse;
	f->cs.ctx = &n;
	assert_int_equal(collect(f, ELF_SYMTAB), 7);
	assert_int_equal(n, 1);
}

static void names_outside_the_table_are_empty(void **state)
{
	struct symbol_file *f = *state;
	struct candidate c;

	add_function(f, "a", TEXT, 8);
	assert_int_equal(collect(f, ELF_SYMTAB), 0);
	c = f->cs.all.data[0];
	assert_true(candidates_have_name(&f->cs, &c));
	for (int i = 0; i < 3; i++) {
		c.name_off = ((uint32_t[]){ 1000, UINT32_MAX, 0 })[i];
		assert_false(candidates_have_name(&f->cs, &c));
		assert_int_equal(candidates_name(&f->cs, &c).len, 0);
	}
}

/* Chooses among all candidates, in each rotation of their order. */
static void check_choice(struct symbol_file *f, const char *want, uint32_t size)
{
	size_t n = f->cs.all.len;

	for (size_t turn = 0; turn < n; turn++) {
		struct candidate best = candidates_choose(&f->cs, f->cs.all.data, n);
		struct candidate first = f->cs.all.data[0];

		check_name(f, &best, want);
		assert_int_equal(best.size, size);
		memmove(f->cs.all.data, f->cs.all.data + 1, (n - 1) * sizeof(first));
		f->cs.all.data[n - 1] = first;
	}
}

static void the_choice_does_not_depend_on_the_order(void **state)
{
	struct symbol_file *f = *state;

	add(f, true, "dynamic", ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), TEXT, 4, f->text);
	add(f, false, "label", ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), TEXT, 4, f->text);
	add(f, false, "local", ELF64_ST_INFO(STB_LOCAL, STT_FUNC), TEXT, 4, f->text);
	add(f, false, "weak", ELF64_ST_INFO(STB_WEAK, STT_FUNC), TEXT, 4, f->text);
	add_function(f, "__f", TEXT, 4);
	add_function(f, "longer", TEXT, 4);
	add_function(f, "g", TEXT, 9);
	add_function(f, "h", TEXT, 4);
	assert_int_equal(collect(f, ELF_SYMTAB | ELF_DYNSYM), 0);
	assert_int_equal(f->cs.all.len, 8);
	check_choice(f, "g", 9);
}

static void the_choice_takes_a_size_from_aliases_of_its_level(void **state)
{
	struct symbol_file *f = *state;

	add_function(f, "f", TEXT, 0);
	add_function(f, "longer", TEXT, 8);
	add_function(f, "much_longer", TEXT, 16);
	add(f, false, "label", ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), TEXT, 99, f->text);
	assert_int_equal(collect(f, ELF_SYMTAB), 0);
	check_choice(f, "f", 16);
}

/* A hostile file may have millions of aliases with long names. */
static void the_bytes_of_names_that_are_read_are_limited(void **state)
{
	struct symbol_file *f = *state;
	char *name = malloc(ELF_NAME_MAX + 100);
	uint64_t n = 0;

	assert_non_null(name);
	memset(name, 'n', ELF_NAME_MAX + 99);
	name[ELF_NAME_MAX + 99] = '\0';
	add_function(f, name, TEXT, 8);
	free(name);
	assert_int_equal(collect(f, ELF_SYMTAB), 0);
	assert_int_equal(candidates_name(&f->cs, &f->cs.all.data[0]).len, ELF_NAME_MAX);
	for (; !candidates_too_many_names(&f->cs) && n < 1 << 20; n++)
		candidates_name(&f->cs, &f->cs.all.data[0]);
	assert_true(n * ELF_NAME_MAX >= ELF_NAMES_MAX);
	assert_true(n * ELF_NAME_MAX < 16ULL * ELF_NAMES_MAX);
	assert_int_equal(candidates_name(&f->cs, &f->cs.all.data[0]).len, 0);
}

#define SYMBOL_TEST(fn) cmocka_unit_test_setup_teardown(fn, symbol_setup, symbol_teardown)

TEST_GROUP(test_symbol_candidates,
	   SYMBOL_TEST(functions_in_code_are_candidates_in_the_order_of_the_table),
	   SYMBOL_TEST(sizes_end_with_the_code), SYMBOL_TEST(sizes_over_4_gib_are_clipped),
	   SYMBOL_TEST(a_section_that_wraps_has_no_code),
	   SYMBOL_TEST(labels_are_candidates_but_marks_of_tools_are_not),
	   SYMBOL_TEST(objects_in_code_are_candidates_if_they_have_a_size),
	   SYMBOL_TEST(only_the_requested_tables_are_read),
	   SYMBOL_TEST(a_consumer_may_end_the_collection),
	   SYMBOL_TEST(names_outside_the_table_are_empty),
	   SYMBOL_TEST(the_choice_does_not_depend_on_the_order),
	   SYMBOL_TEST(the_choice_takes_a_size_from_aliases_of_its_level),
	   SYMBOL_TEST(the_bytes_of_names_that_are_read_are_limited))
