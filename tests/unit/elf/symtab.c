/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/symtab.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sigbus.h"
#include "elf/symtab_scan.h"
#include "tests/test.h"
#include "tests/unit/elf/fixture.h"

enum { TEXT = 0x1000, TEXT_LEN = 0x1000, DATA = 0x4000, GOT = 0x5000, PLT = 0x3000 };
enum { FUNC = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), WEAK = ELF64_ST_INFO(STB_WEAK, STT_FUNC) };
enum { LOCAL = ELF64_ST_INFO(STB_LOCAL, STT_FUNC), LABEL = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE) };

/* A symbol table under construction; its symbols are defined in section 1, which is code. */
struct symbols {
	struct buf entries;
	struct buf strs;
};

static void symbols_init(struct symbols *s)
{
	const Elf64_Sym null = { 0 };

	*s = (struct symbols){ 0 };
	buf_put(&s->entries, &null, sizeof(null));
	buf_put_byte(&s->strs, '\0');
}

static void symbols_fini(struct symbols *s)
{
	buf_fini(&s->entries);
	buf_fini(&s->strs);
}

static void add(struct symbols *s, const char *name, uint64_t vaddr, uint64_t size, uint8_t info)
{
	const Elf64_Sym sym = { (uint32_t)s->strs.len, info, 0, 1, vaddr, size };

	buf_put(&s->entries, &sym, sizeof(sym));
	buf_put(&s->strs, name, strlen(name) + 1);
}

/* Adds a symbol to section 2, which holds no code. */
static void add_in_data(struct symbols *s, const char *name, uint64_t vaddr, uint8_t info)
{
	const Elf64_Sym sym = { (uint32_t)s->strs.len, info, 0, 2, vaddr, 0 };

	buf_put(&s->entries, &sym, sizeof(sym));
	buf_put(&s->strs, name, strlen(name) + 1);
}

static void fixture_text(struct fixture *f)
{
	uint32_t text;

	fixture_init(f);
	text = fixture_add(f, ".text", SHT_NOBITS, "", 0);
	f->sh[text].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	f->sh[text].sh_addr = TEXT;
	f->sh[text].sh_size = TEXT_LEN;
}

static uint32_t fixture_add_symbols(struct fixture *f, const struct symbols *s, uint32_t type)
{
	uint32_t strs = fixture_add(f, ".str", SHT_STRTAB, s->strs.data, s->strs.len);
	uint32_t syms = fixture_add(f, ".sym", type, s->entries.data, s->entries.len);

	f->sh[syms].sh_link = strs;
	f->sh[syms].sh_entsize = sizeof(Elf64_Sym);
	return syms;
}

/* Returns the table of a file that has only @s as its .symtab. Frees @s. */
static struct elf_symtab *load(struct symbols *s)
{
	struct elf_symtab *t = NULL;
	struct fixture f;

	fixture_text(&f);
	fixture_add_symbols(&f, s, SHT_SYMTAB);
	assert_int_equal(elf_symtab_load(&t, fixture_open(&f), ELF_SYMTAB | ELF_DYNSYM, NULL), 0);
	fixture_fini(&f);
	symbols_fini(s);
	return t;
}

static const char *name_at(const struct elf_symtab *t, uint64_t vaddr)
{
	struct elf_symbol s;

	return elf_symtab_find(t, vaddr, &s) == 0 ? s.name : "";
}

static void finds_the_function_that_covers_an_address(void **state)
{
	_cleanup_(elf_symtab_freep) struct elf_symtab *t = NULL;
	struct elf_symbol sym;
	struct symbols s;

	symbols_init(&s);
	add(&s, "second", TEXT + 0x40, 0x10, FUNC);
	add(&s, "first", TEXT, 0x20, LOCAL);
	add(&s, "data", DATA, 8, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT));
	add(&s, "elsewhere", DATA, 8, FUNC);
	t = load(&s);
	assert_int_equal(elf_symtab_count(t), 2);
	assert_string_equal(name_at(t, TEXT), "first");
	assert_string_equal(name_at(t, TEXT + 0x1f), "first");
	assert_string_equal(name_at(t, TEXT + 0x20), "");
	assert_string_equal(name_at(t, TEXT - 1), "");
	assert_string_equal(name_at(t, TEXT + 0x50), "");
	assert_int_equal(elf_symtab_find(t, TEXT + 0x4f, &sym), 0);
	assert_int_equal(sym.vaddr, TEXT + 0x40);
	assert_int_equal(sym.size, 0x10);
	assert_string_equal(sym.name, "second");
	assert_int_equal(elf_symtab_by_name(t, "first", &sym), 0);
	assert_int_equal(sym.vaddr, TEXT);
	assert_int_equal(elf_symtab_by_name(t, "data", &sym), -ENOENT);
	assert_true(elf_symtab_bytes(t) >= 2 * 20);
}

static void chooses_among_aliases_by_binding_underscores_length_and_bytes(void **state)
{
	static const struct {
		const char *a, *b;
		uint8_t info_a, info_b;
	} pairs[] = {
		{ "write", "__write", WEAK, FUNC },    { "strchr", "index", FUNC, WEAK },
		{ "__vdso_time", "time", FUNC, WEAK }, { "__weak", "x", WEAK, LOCAL },
		{ "longer_name", "_x", FUNC, FUNC },   { "_x", "__x", FUNC, FUNC },
		{ "short", "longer", FUNC, FUNC },     { "aa", "ab", FUNC, FUNC },
		{ "code", "a", LOCAL, LABEL },
	};

	for (size_t i = 0; i < 2 * sizeof(pairs) / sizeof(*pairs); i++) {
		_cleanup_(elf_symtab_freep) struct elf_symtab *t = NULL;
		struct symbols s;

		symbols_init(&s);
		if (i % 2)
			add(&s, pairs[i / 2].b, TEXT, 4, pairs[i / 2].info_b);
		add(&s, pairs[i / 2].a, TEXT, 4, pairs[i / 2].info_a);
		if (i % 2 == 0)
			add(&s, pairs[i / 2].b, TEXT, 4, pairs[i / 2].info_b);
		t = load(&s);
		assert_int_equal(elf_symtab_count(t), 1);
		assert_string_equal(name_at(t, TEXT), pairs[i / 2].a);
	}
}

static void a_symbol_without_size_reaches_to_the_next_or_its_sections_end(void **state)
{
	_cleanup_(elf_symtab_freep) struct elf_symtab *t = NULL;
	struct symbols s;

	symbols_init(&s);
	add(&s, "a", TEXT, 0, FUNC);
	add(&s, "b", TEXT + 0x10, 0, LABEL);
	add(&s, "liar", TEXT + 0x100, UINT64_MAX, FUNC);
	add(&s, "inner", TEXT + 0x200, 0, FUNC);
	add(&s, "_etext", TEXT + TEXT_LEN, 0, LABEL);
	t = load(&s);
	assert_string_equal(name_at(t, TEXT + 0xf), "a");
	assert_string_equal(name_at(t, TEXT + 0x10), "b");
	assert_string_equal(name_at(t, TEXT + 0xff), "b");
	assert_string_equal(name_at(t, TEXT + 0x1ff), "liar");
	assert_string_equal(name_at(t, TEXT + TEXT_LEN - 1), "inner");
	assert_string_equal(name_at(t, TEXT + TEXT_LEN), "");
}

static void ranges_may_nest_and_overlap(void **state)
{
	_cleanup_(elf_symtab_freep) struct elf_symtab *t = NULL;
	struct symbols s;

	symbols_init(&s);
	add(&s, "outer", TEXT, 0x100, FUNC);
	add(&s, "inner", TEXT + 0x10, 0x10, FUNC);
	add(&s, "innermost", TEXT + 0x12, 2, FUNC);
	add(&s, "over_the_end", TEXT + 0xf0, 0x20, FUNC);
	t = load(&s);
	assert_string_equal(name_at(t, TEXT + 0xf), "outer");
	assert_string_equal(name_at(t, TEXT + 0x11), "inner");
	assert_string_equal(name_at(t, TEXT + 0x13), "innermost");
	assert_string_equal(name_at(t, TEXT + 0x14), "inner");
	assert_string_equal(name_at(t, TEXT + 0x20), "outer");
	assert_string_equal(name_at(t, TEXT + 0xff), "over_the_end");
	assert_string_equal(name_at(t, TEXT + 0x10f), "over_the_end");
	assert_string_equal(name_at(t, TEXT + 0x110), "");
}

static void labels_name_code_only_outside_functions(void **state)
{
	_cleanup_(elf_symtab_freep) struct elf_symtab *t = NULL;
	struct symbols s;

	symbols_init(&s);
	add(&s, "f", TEXT, 0x20, FUNC);
	add(&s, "loop", TEXT + 8, 0, LABEL);
	add(&s, "entry", TEXT + 0x20, 0, LABEL);
	add(&s, ".Ltmp", TEXT + 0x28, 0, LABEL);
	add(&s, "$x", TEXT + 0x2c, 0, LABEL);
	add(&s, "$d.7", TEXT + 0x2e, 0, LABEL);
	add_in_data(&s, "__bss_start", TEXT + 0x2a, LABEL);
	t = load(&s);
	assert_int_equal(elf_symtab_count(t), 2);
	assert_string_equal(name_at(t, TEXT + 9), "f");
	assert_string_equal(name_at(t, TEXT + 0x2f), "entry");
}

static void omits_versions_and_names_out_of_range(void **state)
{
	_cleanup_(elf_symtab_freep) struct elf_symtab *t = NULL;
	Elf64_Sym lost = { UINT32_MAX, FUNC, 0, 1, TEXT + 0x40, 4 };
	struct symbols s;

	symbols_init(&s);
	add(&s, "memcpy@@GLIBC_2.14", TEXT, 4, FUNC);
	buf_put(&s.entries, &lost, sizeof(lost));
	lost.st_name = (uint32_t)s.strs.len;
	buf_put(&s.entries, &lost, sizeof(lost));
	t = load(&s);
	assert_int_equal(elf_symtab_count(t), 1);
	assert_string_equal(name_at(t, TEXT), "memcpy");
}

static void dynamic_symbols_only_fill_the_gaps(void **state)
{
	_cleanup_(elf_symtab_freep) struct elf_symtab *t = NULL;
	struct symbols s, d;
	struct fixture f;

	symbols_init(&s);
	symbols_init(&d);
	add(&s, "own", TEXT, 0x20, LOCAL);
	add(&d, "exported", TEXT, 0x20, FUNC);
	add(&d, "inside", TEXT + 8, 8, FUNC);
	add(&d, "gap", TEXT + 0x20, 8, FUNC);
	fixture_text(&f);
	fixture_add_symbols(&f, &s, SHT_SYMTAB);
	fixture_add_symbols(&f, &d, SHT_DYNSYM);
	assert_int_equal(elf_symtab_load(&t, fixture_open(&f), ELF_SYMTAB | ELF_DYNSYM, NULL), 0);
	assert_string_equal(name_at(t, TEXT), "own");
	assert_string_equal(name_at(t, TEXT + 9), "own");
	assert_string_equal(name_at(t, TEXT + 0x21), "gap");
	elf_symtab_free(t);
	assert_int_equal(elf_symtab_load(&t, f.img, ELF_DYNSYM, NULL), 0);
	assert_string_equal(name_at(t, TEXT), "exported");
	assert_string_equal(name_at(t, TEXT + 9), "inside");
	fixture_fini(&f);
	symbols_fini(&s);
	symbols_fini(&d);
}

/* jmp *slot(%rip), padded to one PLT entry */
static void put_stub(uint8_t *plt, size_t i, uint32_t slot)
{
	uint32_t disp = slot - (uint32_t)(PLT + 16 * i + 6);

	memcpy(plt + 16 * i, "\xff\x25", 2);
	memcpy(plt + 16 * i + 2, &disp, 4);
}

static void names_plt_stubs_after_the_functions_they_call(void **state)
{
#ifndef __x86_64__
	skip();
#endif
	const Elf64_Rela rela[] = {
		{ GOT + 8, ELF64_R_INFO(1, R_X86_64_JUMP_SLOT), 0 },
		{ GOT, ELF64_R_INFO(2, R_X86_64_JUMP_SLOT), 0 },
		{ GOT + 16, ELF64_R_INFO(0, R_X86_64_IRELATIVE), TEXT },
		{ GOT + 24, ELF64_R_INFO(9999, R_X86_64_JUMP_SLOT), 0 },
	};
	_cleanup_(elf_symtab_freep) struct elf_symtab *t = NULL;
	uint8_t plt[4 * 16 + 3] = { 0 };
	struct symbols s;
	struct fixture f;
	uint32_t sec;

	for (uint32_t i = 0; i < 4; i++)
		put_stub(plt, i, GOT + 8 * i);
	symbols_init(&s);
	add(&s, "puts", 0, 0, FUNC);
	add(&s, "exit", 0, 0, FUNC);
	fixture_text(&f);
	fixture_add_symbols(&f, &s, SHT_DYNSYM);
	fixture_add(&f, ".rela.plt", SHT_RELA, rela, sizeof(rela));
	sec = fixture_add(&f, ".plt", SHT_PROGBITS, plt, sizeof(plt));
	f.sh[sec].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	f.sh[sec].sh_addr = PLT;
	assert_int_equal(elf_symtab_load(&t, fixture_open(&f), ELF_DYNSYM, NULL), 0);
	assert_int_equal(elf_symtab_count(t), 2);
	assert_string_equal(name_at(t, PLT), "exit@plt");
	assert_string_equal(name_at(t, PLT + 31), "puts@plt");
	assert_string_equal(name_at(t, PLT + 32), "");
	fixture_fini(&f);
	symbols_fini(&s);
}

static void names_stubs_of_indirect_functions_after_their_symbols(void **state)
{
#ifndef __x86_64__
	skip();
#endif
	const Elf64_Rela rela[] = {
		{ GOT, ELF64_R_INFO(0, R_X86_64_IRELATIVE), TEXT + 0x20 },
		{ GOT + 8, ELF64_R_INFO(0, R_X86_64_IRELATIVE), TEXT + 0x40 }, /* no symbol */
		{ GOT + 16, ELF64_R_INFO(0, R_X86_64_IRELATIVE), TEXT },
		{ GOT + 24, ELF64_R_INFO(0, R_X86_64_IRELATIVE), TEXT + 0x60 }, /* not indirect */
	};
	static const unsigned int sources[] = { ELF_SYMTAB, ELF_DYNSYM };

	for (size_t k = 0; k < 2; k++) {
		_cleanup_(elf_symtab_freep) struct elf_symtab *t = NULL;
		uint8_t plt[4 * 16] = { 0 };
		struct symbols s;
		struct fixture f;
		uint32_t sec;

		for (uint32_t i = 0; i < 4; i++)
			put_stub(plt, i, GOT + 8 * i);
		symbols_init(&s);
		add(&s, "__memcpy", TEXT + 0x20, 0x10, ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC));
		add(&s, "memcpy", TEXT + 0x20, 0x10, ELF64_ST_INFO(STB_WEAK, STT_GNU_IFUNC));
		add(&s, "strlen", TEXT, 0x10, ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC));
		add(&s, "abs", TEXT + 0x60, 0x10, FUNC);
		fixture_text(&f);
		fixture_add_symbols(&f, &s, k ? SHT_DYNSYM : SHT_SYMTAB);
		fixture_add(&f, ".rela.plt", SHT_RELA, rela, sizeof(rela));
		sec = fixture_add(&f, ".plt", SHT_PROGBITS, plt, sizeof(plt));
		f.sh[sec].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
		f.sh[sec].sh_addr = PLT;
		assert_int_equal(elf_symtab_load(&t, fixture_open(&f), sources[k], NULL), 0);
		assert_string_equal(name_at(t, PLT), "memcpy@plt");
		assert_string_equal(name_at(t, PLT + 16), "");
		assert_string_equal(name_at(t, PLT + 32), "strlen@plt");
		assert_string_equal(name_at(t, PLT + 48), "");
		fixture_fini(&f);
		symbols_fini(&s);
	}
}

/* A quadratic algorithm would need hours, or gigabytes. */
static void many_nested_symbols_or_symbols_at_one_address_are_cheap(void **state)
{
	enum { N = 300 * 1000 };
	static char long_name[1000];
	_cleanup_(elf_symtab_freep) struct elf_symtab *nested = NULL, *same = NULL;
	const Elf64_Sym template = { 1, FUNC, 0, 1, TEXT, 4 };
	struct symbols s;

	memset(long_name, 'x', sizeof(long_name) - 1);
	symbols_init(&s);
	add(&s, long_name, TEXT, 4, FUNC);
	for (uint32_t i = 0; i < N; i++) {
		Elf64_Sym sym = template;

		sym.st_name += i % 2;
		buf_put(&s.entries, &sym, sizeof(sym));
	}
	same = load(&s);
	assert_int_equal(elf_symtab_count(same), 1);

	symbols_init(&s);
	for (uint32_t i = 0; i < TEXT_LEN; i++)
		add(&s, "n", TEXT + i, TEXT_LEN - i - (i == 5), FUNC);
	nested = load(&s);
	assert_int_equal(elf_symtab_count(nested), TEXT_LEN);
	assert_string_equal(name_at(nested, TEXT + TEXT_LEN - 1), "n");
}

/* A name of 16 KiB at every address: gigabytes of names from a file of megabytes. */
static void an_excessive_total_of_names_is_refused(void **state)
{
	static char long_name[ELF_NAME_MAX];
	Elf64_Sym sym = { 1, FUNC, 0, 1, 0, 1 };
	struct elf_symtab *t = NULL;
	struct err err = { 0 };
	struct symbols s;
	struct fixture f;

	memset(long_name, 'x', sizeof(long_name) - 1);
	symbols_init(&s);
	buf_put(&s.strs, long_name, sizeof(long_name));
	for (uint32_t i = 0; i < 20000; i++) {
		sym.st_value = TEXT + i;
		buf_put(&s.entries, &sym, sizeof(sym));
	}
	fixture_text(&f);
	f.sh[1].sh_size = 20000;
	fixture_add_symbols(&f, &s, SHT_SYMTAB);
	assert_int_equal(elf_symtab_load(&t, fixture_open(&f), ELF_SYMTAB, &err), -E2BIG);
	assert_non_null(strstr(err.msg, "names"));
	fixture_fini(&f);
	symbols_fini(&s);
}

struct mapped_file {
	struct elf_image *img;
	struct elf_symtab *table;
};

static int load_mapped(void *ctx)
{
	struct mapped_file *m = ctx;

	return elf_symtab_load(&m->table, m->img, ELF_SYMTAB, NULL);
}

static void a_file_truncated_while_it_is_mapped_returns_efault_and_leaks_nothing(void **state)
{
	_cleanup_(closep) int fd = memfd_create("elf", MFD_CLOEXEC);
	struct mapped_file m = { 0 };
	struct symbols s;
	struct fixture f;

	symbols_init(&s);
	for (uint32_t i = 0; i < 4000; i++)
		add(&s, "function", TEXT + i, 1, FUNC);
	fixture_text(&f);
	fixture_add_symbols(&f, &s, SHT_SYMTAB);
	fixture_open(&f);
	assert_int_equal(write(fd, f.bytes.data, f.bytes.len), f.bytes.len);
	assert_int_equal(elf_image_open(&m.img, fd, NULL), 0);
	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_int_equal(sigbus_run(load_mapped, &m), -EFAULT);
	elf_symtab_free(m.table);
	elf_image_free(m.img);
	fixture_fini(&f);
	symbols_fini(&s);
}

static void a_false_table_is_refused_or_read_to_its_end(void **state)
{
	struct elf_symtab *t = NULL;
	struct err err = { 0 };
	struct symbols s;
	struct fixture f;
	uint32_t sec;

	symbols_init(&s);
	add(&s, "f", TEXT, 4, FUNC);
	buf_put(&s.entries, "half", 4);
	fixture_text(&f);
	sec = fixture_add_symbols(&f, &s, SHT_SYMTAB);
	f.sh[sec].sh_link = sec + 77;
	assert_int_equal(elf_symtab_load(&t, fixture_open(&f), ELF_SYMTAB, &err), -EBADMSG);
	assert_non_null(strstr(err.msg, ".symtab"));
	assert_null(t);
	fixture_fini(&f);

	fixture_text(&f);
	sec = fixture_add_symbols(&f, &s, SHT_SYMTAB);
	assert_int_equal(elf_symtab_load(&t, fixture_open(&f), ELF_SYMTAB, NULL), 0);
	assert_int_equal(elf_symtab_count(t), 1);
	elf_symtab_free(t);
	fixture_fini(&f);
	symbols_fini(&s);
}

static void a_file_without_symbols_has_an_empty_table(void **state)
{
	_cleanup_(elf_symtab_freep) struct elf_symtab *t = NULL;
	struct elf_symbol sym;
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(elf_symtab_load(&t, fixture_open(&f), ELF_SYMTAB | ELF_DYNSYM, NULL), 0);
	assert_int_equal(elf_symtab_count(t), 0);
	assert_int_equal(elf_symtab_find(t, 0, &sym), -ENOENT);
	fixture_fini(&f);
}

static void looks_up_data_by_name(void **state)
{
	struct elf_rawsym sym;
	struct symbols s;
	struct fixture f;

	symbols_init(&s);
	add(&s, "_PyRuntime", DATA, 0x200, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT));
	add(&s, "versioned@@V_1", DATA, 8, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT));
	fixture_text(&f);
	fixture_add_symbols(&f, &s, SHT_DYNSYM);
	fixture_open(&f);
	assert_int_equal(elf_symbol_lookup(f.img, ELF_SYMTAB | ELF_DYNSYM, "_PyRuntime", &sym), 0);
	assert_int_equal(sym.vaddr, DATA);
	assert_int_equal(sym.size, 0x200);
	assert_int_equal(sym.type, STT_OBJECT);
	assert_int_equal(elf_symbol_lookup(f.img, ELF_SYMTAB, "_PyRuntime", &sym), -ENOENT);
	assert_int_equal(elf_symbol_lookup(f.img, ELF_DYNSYM, "_PyRun", &sym), -ENOENT);
	assert_int_equal(elf_symbol_lookup(f.img, ELF_DYNSYM, "_PyRuntime2", &sym), -ENOENT);
	assert_int_equal(elf_symbol_lookup(f.img, ELF_DYNSYM, "versioned", &sym), 0);
	fixture_fini(&f);
	symbols_fini(&s);
}

struct agreement {
	struct elf_symtab *table;
	size_t n_named, n_none, n_unknown;
};

/* Expects a lookup of a few addresses to return the same as the whole table. */
static void agree(struct agreement *a, const struct elf_image *img, enum elf_symtab_source source,
		  const uint64_t *vaddrs)
{
	struct elf_scan_result few[ELF_SCAN_MAX];
	struct buf names = { 0 };

	assert_int_equal(elf_symtab_scan(img, source, vaddrs, ELF_SCAN_MAX, few, &names), 0);
	for (size_t i = 0; i < ELF_SCAN_MAX; i++) {
		struct elf_symbol sym;
		int r = elf_symtab_find(a->table, vaddrs[i], &sym);

		if (few[i].verdict == ELF_SCAN_FOUND) {
			assert_int_equal(r, 0);
			assert_string_equal((const char *)names.data + few[i].name, sym.name);
		} else if (few[i].verdict == ELF_SCAN_NONE) {
			assert_int_equal(r, -ENOENT);
		}
		a->n_named += few[i].verdict == ELF_SCAN_FOUND;
		a->n_none += few[i].verdict == ELF_SCAN_NONE;
		a->n_unknown += few[i].verdict == ELF_SCAN_UNKNOWN;
	}
	buf_fini(&names);
}

/* Looks up addresses all over the code of a file, a few dozen at a time. */
static void agree_on_file(const char *path, enum elf_symtab_source source)
{
	struct agreement a = { 0 };
	const struct elf_segment *seg;
	struct elf_image *img;
	uint64_t vaddrs[ELF_SCAN_MAX];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n;

	assert_true(fd >= 0);
	assert_int_equal(elf_image_open(&img, fd, NULL), 0);
	assert_int_equal(elf_symtab_load(&a.table, img, source, NULL), 0);
	n = elf_image_segments(img, &seg);
	for (size_t i = 0; i < n; i++) {
		uint64_t step = seg[i].memsz / (ELF_SCAN_MAX + 1), from = seg[i].vaddr;

		for (uint64_t turn = 0; seg[i].exec && turn < 40; turn++) {
			for (size_t k = 0; k < ELF_SCAN_MAX; k++)
				vaddrs[k] = from + k * step + turn * step / 40;
			agree(&a, img, source, vaddrs);
		}
	}
	assert_true(a.n_named > a.n_unknown);
	elf_symtab_free(a.table);
	elf_image_free(img);
	close(fd);
}

static void a_few_addresses_have_the_names_of_the_table(void **state)
{
	agree_on_file("/proc/self/exe", ELF_SYMTAB);
}

/* The table has aliases, nested functions, labels, and symbols without a size. */
static void a_few_addresses_have_the_names_of_any_table(void **state)
{
	static const uint8_t infos[] = { FUNC, FUNC, WEAK, LOCAL, LABEL };
	size_t n_known = 0, n_unknown = 0;
	unsigned int seed = 1;

	for (int turn = 0; turn < 400; turn++) {
		struct agreement a = { 0 };
		uint64_t vaddrs[ELF_SCAN_MAX];
		struct symbols s;
		struct fixture f;

		symbols_init(&s);
		for (int i = 0; i < 1 + turn % 23; i++) {
			char name[24];

			snprintf(name, sizeof(name), "%s%d", rand_r(&seed) % 3 ? "f" : "_",
				 (int)(rand_r(&seed) % 30));
			add(&s, name, TEXT + rand_r(&seed) % 64, rand_r(&seed) % 4 * 9,
			    infos[rand_r(&seed) % sizeof(infos)]);
		}
		fixture_text(&f);
		fixture_add_symbols(&f, &s, SHT_SYMTAB);
		assert_int_equal(elf_symtab_load(&a.table, fixture_open(&f), ELF_SYMTAB, NULL), 0);
		for (size_t i = 0; i < ELF_SCAN_MAX; i++)
			vaddrs[i] = TEXT - 2 + i * 2;
		agree(&a, f.img, ELF_SYMTAB, vaddrs);
		n_known += a.n_named + a.n_none;
		n_unknown += a.n_unknown;
		elf_symtab_free(a.table);
		fixture_fini(&f);
		symbols_fini(&s);
	}
	assert_true(n_known && n_unknown);
}

TEST_GROUP(test_symtab, TEST(finds_the_function_that_covers_an_address),
	   TEST(chooses_among_aliases_by_binding_underscores_length_and_bytes),
	   TEST(a_symbol_without_size_reaches_to_the_next_or_its_sections_end),
	   TEST(ranges_may_nest_and_overlap), TEST(labels_name_code_only_outside_functions),
	   TEST(omits_versions_and_names_out_of_range), TEST(dynamic_symbols_only_fill_the_gaps),
	   TEST(names_plt_stubs_after_the_functions_they_call),
	   TEST(names_stubs_of_indirect_functions_after_their_symbols),
	   TEST(many_nested_symbols_or_symbols_at_one_address_are_cheap),
	   TEST(a_file_truncated_while_it_is_mapped_returns_efault_and_leaks_nothing),
	   TEST(an_excessive_total_of_names_is_refused),
	   TEST(a_false_table_is_refused_or_read_to_its_end),
	   TEST(a_file_without_symbols_has_an_empty_table), TEST(looks_up_data_by_name),
	   TEST(a_few_addresses_have_the_names_of_the_table),
	   TEST(a_few_addresses_have_the_names_of_any_table))
