/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/plt.h"

#include <errno.h>

#include "tests/unit/elf/fixture.h"
#include "tests/x86_64.h"

/* The symbols of the file are s1, s2 and s3, and one without a name. */
enum {
	N_SYMBOLS = 5,
	UNNAMED = 4,
	PLT = 0x1000,
	PLT_SEC = 0x2000,
	PLT_GOT = 0x3000,
	RESOLVER = 0x4000,
	GOT = 0x8000
};

struct plt_file {
	struct fixture elf;
	struct elf_rawsyms dynsym;
};

/* s1 is an indirect function of the file. */
static int plt_setup(void **state)
{
	Elf64_Sym syms[N_SYMBOLS] = {
		[1] = { .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC),
			.st_shndx = 1,
			.st_value = RESOLVER },
	};
	struct plt_file *f = calloc(1, sizeof(*f));
	uint32_t i;

	if (!f)
		return -1;
	fixture_init(&f->elf);
	for (uint32_t k = 1; k <= 3; k++)
		syms[k].st_name = 3 * k - 2;
	i = fixture_add(&f->elf, ".dynsym", SHT_DYNSYM, syms, sizeof(syms));
	f->elf.sh[i].sh_entsize = sizeof(Elf64_Sym);
	f->elf.sh[i].sh_link = fixture_add(&f->elf, ".dynstr", SHT_STRTAB, "\0s1\0s2\0s3", 10);
	*state = f;
	return 0;
}

static int plt_teardown(void **state)
{
	struct plt_file *f = *state;

	fixture_fini(&f->elf);
	free(f);
	return 0;
}

/* Adds relocations, each of GOT word @slots[i] with symbol @symbols[i]. */
static void add_relocations(struct plt_file *f, const char *name, uint32_t type,
			    const uint32_t *slots, const uint32_t *symbols, size_t n)
{
	Elf64_Rela rela[8] = { 0 };

	assert_true(n <= 8);
	for (size_t i = 0; i < n; i++)
		rela[i] = (Elf64_Rela){ .r_offset = GOT + 8 * slots[i],
					.r_info = ELF64_R_INFO((uint64_t)symbols[i], type) };
	for (size_t i = 0; type == R_X86_64_IRELATIVE && i < n; i++)
		rela[i].r_addend = RESOLVER + symbols[i];
	fixture_add(&f->elf, name, SHT_RELA, rela, n * sizeof(*rela));
}

#define LIST(...) ((const uint32_t[]){ __VA_ARGS__ })

/*
 * Adds code at @vaddr with stubs of @entry_len bytes, of which stub i jumps through GOT word
 * @slots[i] by an instruction @at bytes after its start.
 */
static void add_stubs(struct plt_file *f, const char *name, uint64_t vaddr, size_t entry_len,
		      size_t at, const uint32_t *slots, size_t n, size_t len)
{
	uint8_t code[256];
	uint32_t index;

	assert_true(n * entry_len <= sizeof(code) && len <= sizeof(code));
	memset(code, 0x90, sizeof(code));
	for (size_t i = 0; i < n; i++) {
		uint64_t end = vaddr + i * entry_len + at + 6;
		int32_t disp = (int32_t)(GOT + 8 * (uint64_t)slots[i] - end);

		code[i * entry_len + at] = 0xff;
		code[i * entry_len + at + 1] = 0x25;
		memcpy(code + i * entry_len + at + 2, &disp, sizeof(disp));
	}
	index = fixture_add(&f->elf, name, SHT_PROGBITS, code, len);
	f->elf.sh[index].sh_addr = vaddr;
	f->elf.sh[index].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	f->elf.sh[index].sh_entsize = entry_len;
}

struct seen {
	struct elf_plt_entry e[16];
	size_t n;
	int stop;
};

static int see(void *ctx, const struct elf_plt_entry *e)
{
	struct seen *s = ctx;

	assert_true(s->n < 16);
	s->e[s->n++] = *e;
	return s->stop;
}

static int walk(struct plt_file *f, struct seen *seen)
{
	const struct elf_image *img = fixture_open(&f->elf);

	assert_int_equal(elf_rawsyms_open(img, ELF_DYNSYM, &f->dynsym), 0);
	return elf_plt_walk(img, &f->dynsym, ELF_DYNSYM, see, seen);
}

static void check(const struct plt_file *f, const struct elf_plt_entry *e, uint64_t vaddr,
		  uint32_t size, const char *name)
{
	const char *s;
	size_t len = elf_rawsyms_name(&f->dynsym, e->name_off, ELF_NAME_MAX, &s);

	assert_int_equal(e->vaddr, vaddr);
	assert_int_equal(e->size, size);
	assert_int_equal(len, strlen(name));
	assert_memory_equal(s, name, len);
}

static void a_stub_is_named_by_the_slot_that_it_jumps_through(void **state)
{
	struct plt_file *f = *state;
	struct seen seen = { 0 };

	/* The first stub of a lazy .plt jumps through a slot that no relocation binds. */
	add_relocations(f, ".rela.plt", R_X86_64_JUMP_SLOT, LIST(5, 3, 4), LIST(1, 2, 3), 3);
	add_stubs(f, ".plt", PLT, 16, 0, LIST(2, 3, 4, 5), 4, 64);
	assert_int_equal(walk(f, &seen), 0);
	assert_int_equal(seen.n, 3);
	check(f, &seen.e[0], PLT + 16, 16, "s2");
	check(f, &seen.e[1], PLT + 32, 16, "s3");
	check(f, &seen.e[2], PLT + 48, 16, "s1");
}

static void stubs_may_be_in_three_sections_of_several_sizes(void **state)
{
	struct plt_file *f = *state;
	struct seen seen = { 0 };

	add_relocations(f, ".rela.plt", R_X86_64_JUMP_SLOT, LIST(3, 4), LIST(1, 2), 2);
	add_relocations(f, ".rela.dyn", R_X86_64_GLOB_DAT, LIST(9), LIST(3), 1);
	add_stubs(f, ".plt", PLT, 32, 20, LIST(3), 1, 32);
	add_stubs(f, ".plt.sec", PLT_SEC, 16, 5, LIST(4, 3), 2, 32); /* endbr64; bnd jmp */
	add_stubs(f, ".plt.got", PLT_GOT, 8, 0, LIST(9), 1, 8);
	assert_int_equal(walk(f, &seen), 0);
	assert_int_equal(seen.n, 4);
	check(f, &seen.e[0], PLT, 32, "s1");
	check(f, &seen.e[1], PLT_SEC, 16, "s2");
	check(f, &seen.e[2], PLT_SEC + 16, 16, "s1");
	check(f, &seen.e[3], PLT_GOT, 8, "s3");
}

static void dynamic_relocations_are_read_only_for_plt_got(void **state)
{
	struct plt_file *f = *state;
	struct seen seen = { 0 };

	add_relocations(f, ".rela.dyn", R_X86_64_GLOB_DAT, LIST(3), LIST(1), 1);
	add_stubs(f, ".plt", PLT, 16, 0, LIST(3), 1, 16);
	assert_int_equal(walk(f, &seen), 0);
	assert_int_equal(seen.n, 0);
	assert_string_equal(elf_plt_section(f->elf.img, 0), ".rela.plt");
	assert_string_equal(elf_plt_section(f->elf.img, 2), ".plt.sec");
	assert_null(elf_plt_section(f->elf.img, 3));
	assert_null(elf_plt_section(f->elf.img, SIZE_MAX));
}

static void relocations_without_a_named_symbol_are_omitted(void **state)
{
	struct plt_file *f = *state;
	struct seen seen = { 0 };

	add_relocations(f, ".rela.plt", R_X86_64_JUMP_SLOT, LIST(3, 4, 5, 6),
			LIST(UNNAMED, 0, N_SYMBOLS, UINT32_MAX), 4);
	add_relocations(f, ".rela.dyn", R_X86_64_IRELATIVE, LIST(7), LIST(8), 1);
	add_stubs(f, ".plt", PLT, 16, 0, LIST(3, 4, 5, 6, 7), 5, 80);
	add_stubs(f, ".plt.got", PLT_GOT, 8, 0, LIST(7), 1, 8);
	assert_int_equal(walk(f, &seen), 0);
	assert_int_equal(seen.n, 0);
}

static void an_incomplete_last_stub_is_omitted(void **state)
{
	for (size_t len = 0; len < 48; len++) {
		struct seen seen = { 0 };
		struct plt_file *f;

		assert_int_equal(plt_setup(state), 0);
		f = *state;
		add_relocations(f, ".rela.plt", R_X86_64_JUMP_SLOT, LIST(3, 4), LIST(1, 2), 2);
		add_stubs(f, ".plt", PLT, 16, 10, LIST(3, 4), 2, len);
		assert_int_equal(walk(f, &seen), 0);
		assert_int_equal(seen.n, len < 16 ? 0 : len < 32 ? 1 : 2);
		plt_teardown(state);
	}
}

static void a_false_entry_size_is_ignored(void **state)
{
	static const uint64_t sizes[] = { 0, 1, 4, 7, 33, UINT64_MAX };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct seen seen = { 0 };
		struct plt_file *f;

		assert_int_equal(plt_setup(state), 0);
		f = *state;
		add_relocations(f, ".rela.plt", R_X86_64_JUMP_SLOT, LIST(3, 4), LIST(1, 2), 2);
		add_stubs(f, ".plt", PLT, 16, 0, LIST(3, 4), 2, 32);
		f->elf.sh[f->elf.n_sections - 1].sh_entsize = sizes[i];
		assert_int_equal(walk(f, &seen), 0);
		assert_int_equal(seen.n, 2);
		check(f, &seen.e[1], PLT + 16, 16, "s2");
		plt_teardown(state);
	}
}

static void the_consumer_ends_the_walk(void **state)
{
	struct plt_file *f = *state;
	struct seen seen = { .stop = 7 };

	add_relocations(f, ".rela.plt", R_X86_64_JUMP_SLOT, LIST(3, 4), LIST(1, 2), 2);
	add_stubs(f, ".plt", PLT, 16, 0, LIST(3, 4), 2, 32);
	assert_int_equal(walk(f, &seen), 7);
	assert_int_equal(seen.n, 1);
}

static void files_without_relocations_have_no_stubs(void **state)
{
	struct plt_file *f = *state;
	struct seen seen = { 0 };

	add_stubs(f, ".plt", PLT, 16, 0, LIST(3, 4), 2, 32);
	assert_int_equal(walk(f, &seen), 0);
	assert_int_equal(seen.n, 0);
}

static void short_stubs_of_static_programs_have_no_header(void **state)
{
	struct plt_file *f = *state;
	struct seen seen = { 0 };

	add_relocations(f, ".rela.plt", R_X86_64_IRELATIVE, LIST(2, 3, 4), LIST(0, 0, 1), 3);
	add_stubs(f, ".plt", PLT, 8, 0, LIST(2, 3, 4), 3, 24);
	f->elf.sh[f->elf.n_sections - 1].sh_entsize = 0;
	assert_int_equal(walk(f, &seen), 0);
	assert_int_equal(seen.n, 2);
	check(f, &seen.e[0], PLT, 8, "s1");
	check(f, &seen.e[1], PLT + 8, 8, "s1");
}

static void dynamic_relocations_bind_iplt(void **state)
{
	struct plt_file *f = *state;
	struct seen seen = { 0 };

	add_relocations(f, ".rela.dyn", R_X86_64_IRELATIVE, LIST(2), LIST(0), 1);
	add_stubs(f, ".iplt", PLT, 16, 0, LIST(2), 1, 16);
	assert_int_equal(walk(f, &seen), 0);
	assert_int_equal(seen.n, 1);
	check(f, &seen.e[0], PLT, 16, "s1");
}

/* Each of N slots has the resolver at which N symbols are: N * N names. */
static void many_names_of_one_resolver_are_cheap(void **state)
{
	enum { N = 20000 };
	Elf64_Sym *syms = calloc(N, sizeof(*syms));
	Elf64_Rela *rela = calloc(N, sizeof(*rela));
	struct elf_rawsyms dynsym;
	struct seen seen = { 0 };
	const struct elf_image *img;
	struct fixture elf;
	uint32_t i;

	(void)state;
	assert_non_null(syms);
	assert_non_null(rela);
	for (size_t k = 0; k < N; k++) {
		syms[k] = (Elf64_Sym){ .st_name = 1,
				       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC),
				       .st_shndx = 1,
				       .st_value = RESOLVER };
		rela[k] = (Elf64_Rela){ GOT, ELF64_R_INFO(0, R_X86_64_IRELATIVE), RESOLVER };
	}
	fixture_init(&elf);
	i = fixture_add(&elf, ".dynsym", SHT_DYNSYM, syms, N * sizeof(*syms));
	elf.sh[i].sh_entsize = sizeof(Elf64_Sym);
	elf.sh[i].sh_link = fixture_add(&elf, ".dynstr", SHT_STRTAB, "\0s1", 4);
	fixture_add(&elf, ".rela.plt", SHT_RELA, rela, N * sizeof(*rela));
	img = fixture_open(&elf);
	assert_int_equal(elf_rawsyms_open(img, ELF_DYNSYM, &dynsym), 0);
	assert_int_equal(elf_plt_walk(img, &dynsym, ELF_DYNSYM, see, &seen), 0);
	fixture_fini(&elf);
	free(syms);
	free(rela);
}

#define PLT_TEST(fn) cmocka_unit_test_setup_teardown(fn, plt_setup, plt_teardown)

TEST_GROUP_OF_X86_64(test_plt, PLT_TEST(a_stub_is_named_by_the_slot_that_it_jumps_through),
		     PLT_TEST(stubs_may_be_in_three_sections_of_several_sizes),
		     PLT_TEST(dynamic_relocations_are_read_only_for_plt_got),
		     PLT_TEST(relocations_without_a_named_symbol_are_omitted),
		     TEST(an_incomplete_last_stub_is_omitted), TEST(a_false_entry_size_is_ignored),
		     PLT_TEST(the_consumer_ends_the_walk),
		     PLT_TEST(short_stubs_of_static_programs_have_no_header),
		     PLT_TEST(dynamic_relocations_bind_iplt),
		     TEST(many_names_of_one_resolver_are_cheap),
		     PLT_TEST(files_without_relocations_have_no_stubs))
