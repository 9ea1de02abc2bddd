/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where Go keeps its goroutines: of files with and without symbols, and of those that lie.
 *
 * covers: src/lang/golang_code.c
 */
#include "lang/tasks/golang_layout.h"

#include <errno.h>
#include <string.h>

#include "elf/gopclntab.h"
#include "lang/golang_code.h"
#include "lang/tasks/task_memory.h"
#include "tests/test.h"
#include "tests/unit/elf/fixture.h"

enum {
	INFO_AT = 0x3000,
	TEXT_AT = 0x4000,
	TEXT_BYTES = 0x40,
	TABLE_AT = 0x6000,
	TABLE_BYTES = 0x100,
	RECORD = 0x60, /* in the table */
	NAME = 0xa0,
	DATA_AT = 0x10000,
	DATA_BYTES = 0x2000,
	TEXTS = 0x20, /* in the data: the texts, and the array that refers to them */
	ARRAY = 0x1000,
	BIAS = 0x7000000,
	MACHINE_AT = 18, /* in the header of a file */
};

/* A file, and the memory of a process that has mapped its data. */
struct program {
	struct fixture file;
	struct elf_image *img; /* of the file, with another machine */
	struct gopclntab *table;
	uint8_t data[DATA_BYTES], text[TEXT_BYTES];
	struct task_memory memory;
	size_t n_texts;
};

static struct program p;

static int setup(void **state)
{
	(void)state;
	memset(&p, 0, sizeof(p));
	fixture_init(&p.file);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	gopclntab_free(p.table);
	elf_image_free(p.img);
	fixture_fini(&p.file);
	return 0;
}

static void put32(uint8_t *at, uint32_t v)
{
	memcpy(at, &v, sizeof(v));
}

static void put64(uint8_t *at, uint64_t v)
{
	memcpy(at, &v, sizeof(v));
}

static void add_info(const char *version)
{
	uint8_t info[96] = "\xff Go buildinf:";

	info[15] = 2;
	info[32] = (uint8_t)strlen(version);
	memcpy(info + 33, version, strlen(version));
	fixture_load(&p.file,
		     fixture_add(&p.file, ".go.buildinfo", SHT_PROGBITS, info, sizeof(info)),
		     INFO_AT, PF_R);
}

/* A table of one function, which is the code. */
static void add_table(const char *function)
{
	uint8_t table[TABLE_BYTES] = { 0xfb, 0xff, 0xff, 0xff, 0, 0, 1, 8, 1 };

	put64(table + 16, TEXT_AT);
	put64(table + 24, RECORD);
	put64(table + 32, TEXT_AT + TEXT_BYTES);
	put32(table + 40, 0xf0);
	put64(table + RECORD, TEXT_AT);
	put32(table + RECORD + 8, NAME);
	strcpy((char *)table + NAME, function);
	fixture_load(&p.file,
		     fixture_add(&p.file, ".gopclntab", SHT_PROGBITS, table, sizeof(table)),
		     TABLE_AT, PF_R);
}

/* @names, in the symbol table, have the address DATA_AT and those after it. */
static void add_symbols(const char *const *names, size_t n)
{
	Elf64_Sym syms[4] = { { 0 } };
	struct buf strs = { 0 };
	uint32_t table;

	buf_put_byte(&strs, '\0');
	for (size_t i = 0; i < n; i++) {
		syms[i + 1] = (Elf64_Sym){ .st_name = (uint32_t)strs.len,
					   .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
					   .st_shndx = 1,
					   .st_value = DATA_AT + i * 8,
					   .st_size = 8 };
		buf_put(&strs, names[i], strlen(names[i]) + 1);
	}
	table = fixture_add(&p.file, ".symtab", SHT_SYMTAB, syms, (n + 1) * sizeof(*syms));
	p.file.sh[table].sh_entsize = sizeof(*syms);
	p.file.sh[table].sh_link = fixture_add(&p.file, ".strtab", SHT_STRTAB, strs.data, strs.len);
	buf_fini(&strs);
}

/* Opens the file as one for @machine and finds the layout. */
static int find(uint16_t machine, struct golang_layout *out)
{
	fixture_load(&p.file, fixture_add(&p.file, ".text", SHT_PROGBITS, p.text, sizeof(p.text)),
		     TEXT_AT, PF_R | PF_X);
	fixture_open(&p.file);
	memcpy(p.file.bytes.data + MACHINE_AT, &machine, sizeof(machine));
	assert_int_equal(elf_image_from_memory(&p.img, p.file.bytes.data, p.file.bytes.len, NULL),
			 0);
	assert_int_equal(gopclntab_open(&p.table, p.img, NULL), 0);
	return golang_layout_find(p.img, p.table, out);
}

/* MOV of 8 bytes at @at, which loads @target into a register. */
static void put_x86_load(size_t at, uint8_t modrm, uint64_t target)
{
	p.text[at] = 0x48;
	p.text[at + 1] = 0x8b;
	p.text[at + 2] = modrm;
	put32(p.text + at + 3, (uint32_t)(target - (TEXT_AT + at + 7)));
}

/* ADRP, ADD of the same register at @at. */
static void put_arm64_address(size_t at, uint32_t reg, uint64_t target)
{
	uint32_t pages = (uint32_t)((target >> 12) - ((TEXT_AT + at) >> 12));

	put32(p.text + at, 0x90000000 | (pages & 3) << 29 | (pages >> 2 & 0x7ffff) << 5 | reg);
	put32(p.text + at + 4, 0x91000000 | (uint32_t)(target & 0xfff) << 10 | reg << 5 | reg);
}

/* ---- the list -------------------------------------------------------------------------------- */

static void symbols_are_the_list(void **state)
{
	static const char *const names[] = { "runtime.allglen", "runtime.allgptr" };
	struct golang_layout layout;

	add_info("go1.26.1");
	add_table("main.main");
	add_symbols(names, 2);
	assert_int_equal(find(EM_X86_64, &layout), 0);
	assert_string_equal(layout.version, "1.26.1");
	assert_int_equal(layout.allglen, DATA_AT);
	assert_int_equal(layout.allgptr, DATA_AT + 8);
	assert_int_equal(layout.at.sudog_elem, 32);
	assert_false(layout.uses_lr);
}

static void a_stripped_programs_code_loads_the_list(void **state)
{
	struct golang_layout layout;

	add_info("go1.22.4");
	add_table("runtime.forEachGRace");
	p.text[0] = 0x55; /* PUSH */
	put_x86_load(1, 0x0d, DATA_AT + 0x30);
	p.text[8] = 0x90; /* NOP */
	put_x86_load(9, 0x05, DATA_AT + 0x20);
	assert_int_equal(find(EM_X86_64, &layout), 0);
	assert_int_equal(layout.allglen, DATA_AT + 0x30);
	assert_int_equal(layout.allgptr, DATA_AT + 0x20);
	/* of the release before */
	assert_int_equal(layout.at.gopc, 280);
	assert_int_equal(layout.at.hchan_timer, 0);
}

static void arm64_code_loads_the_list(void **state)
{
	struct golang_layout layout;

	add_info("go1.23");
	add_table("runtime.forEachGRace");
	put_arm64_address(0, 3, DATA_AT + 0x38);
	put32(p.text + 8, 0xc8dffc00 | 3 << 5 | 4); /* LDAR x4, [x3] */
	put_arm64_address(12, 5, DATA_AT + 0x100);
	put32(p.text + 20, 0xf9400000 | 2 << 10 | 5 << 5 | 6); /* LDR x6, [x5, #16] */
	assert_int_equal(find(EM_AARCH64, &layout), 0);
	assert_true(layout.uses_lr);
	assert_int_equal(layout.allglen, DATA_AT + 0x38);
	assert_int_equal(layout.allgptr, DATA_AT + 0x110);
}

/* Loads of 4 and 8 bytes are distinguished, and those from the stack are omitted. */
static void loads_have_a_width(void **state)
{
	static const uint8_t narrow[] = { 0x8b, 0x0d, 0x10, 0, 0, 0 };     /* MOVL 16(IP), CX */
	static const uint8_t high[] = { 0x44, 0x8b, 0x05, 0x20, 0, 0, 0 }; /* MOVL 32(IP), R8 */
	static const uint8_t stack[] = { 0x48, 0x8b, 0x54, 0x24, 0x10 };   /* MOVQ 16(SP), DX */
	static const uint8_t wide[] = { 0x4c, 0x8b, 0x0d, 0x30, 0, 0, 0 }; /* MOVQ 48(IP), R9 */
	struct golang_layout layout;
	uint64_t out[4];

	add_info("go1.26");
	add_table("runtime.one");
	memset(p.text, 0x90, sizeof(p.text));
	memcpy(p.text, narrow, 6);
	memcpy(p.text + 6, high, 7);
	memcpy(p.text + 13, stack, 5);
	memcpy(p.text + 18, wide, 7);
	(void)find(EM_X86_64, &layout);
	assert_int_equal(golang_code_loads(p.img, p.table, "runtime.one", 4, out, 4), 2);
	assert_int_equal(out[0], TEXT_AT + 6 + 0x10);
	assert_int_equal(out[1], TEXT_AT + 13 + 0x20);
	assert_int_equal(golang_code_loads(p.img, p.table, "runtime.one", 8, out, 4), 1);
	assert_int_equal(out[0], TEXT_AT + 25 + 0x30);
	assert_int_equal(golang_code_loads(p.img, p.table, "runtime.two", 8, out, 4), 0);
	assert_true(golang_code_has(p.table, "runtime.one"));
	assert_false(golang_code_has(p.table, "runtime.two"));
}

/* A load replaces the address that its register had. */
static void arm64_loads_have_a_width(void **state)
{
	struct golang_layout layout;
	uint64_t out[4];

	add_info("go1.26");
	add_table("runtime.one");
	put_arm64_address(0, 1, DATA_AT + 0x38);
	put32(p.text + 8, 0x88dffc00 | 1 << 5 | 1);            /* LDARW x1, [x1] */
	put32(p.text + 12, 0xf9400000 | 1 << 10 | 1 << 5 | 2); /* LDR x2, [x1, #8] */
	put_arm64_address(16, 27, DATA_AT + 0x40);
	put32(p.text + 24, 0xb9400000 | 3 << 10 | 27 << 5 | 3); /* LDR w3, [x27, #12] */
	put_arm64_address(28, 27, DATA_AT + 0x50);
	put32(p.text + 36, 0xf9400000 | 1 << 10 | 27 << 5 | 3); /* LDR x3, [x27, #8] */
	(void)find(EM_AARCH64, &layout);
	assert_int_equal(golang_code_loads(p.img, p.table, "runtime.one", 4, out, 4), 2);
	assert_int_equal(out[0], DATA_AT + 0x38);
	assert_int_equal(out[1], DATA_AT + 0x4c);
	assert_int_equal(golang_code_loads(p.img, p.table, "runtime.one", 8, out, 4), 1);
	assert_int_equal(out[0], DATA_AT + 0x58);
}

static void code_without_the_loads_has_no_list(void **state)
{
	struct golang_layout layout;

	add_info("go1.26");
	add_table("runtime.forEachGRace");
	put_x86_load(0, 0x0d, DATA_AT);
	memset(p.text + 7, 0x90, sizeof(p.text) - 7);
	assert_int_equal(find(EM_X86_64, &layout), -ENOTSUP);
}

static void other_functions_have_no_list(void **state)
{
	struct golang_layout layout;

	add_info("go1.26");
	add_table("runtime.forEachG");
	put_x86_load(0, 0x0d, DATA_AT);
	put_x86_load(7, 0x0d, DATA_AT);
	assert_int_equal(find(EM_X86_64, &layout), -ENOTSUP);
}

static void releases_before_the_first_are_refused(void **state)
{
	static const char *const names[] = { "runtime.allglen", "runtime.allgptr" };
	struct golang_layout layout;

	add_info("go1.17.3");
	add_table("main.main");
	add_symbols(names, 2);
	assert_int_equal(find(EM_X86_64, &layout), -ENOTSUP);
}

static void other_programs_are_no_go(void **state)
{
	struct golang_layout layout;

	add_table("runtime.forEachGRace");
	assert_int_equal(find(EM_X86_64, &layout), -ENOENT);
}

/* ---- reasons --------------------------------------------------------------------------------- */

static int read_data(void *ctx, uint64_t addr, void *dst, size_t len)
{
	const struct program *from = ctx;
	uint64_t at = addr - (DATA_AT + BIAS);

	if (at > DATA_BYTES || DATA_BYTES - at < len)
		return -EFAULT;
	memcpy(dst, from->data + at, len);
	return 0;
}

/* Adds a string at the end of the array, and its text. */
static void add_reason(const char *text)
{
	size_t at = TEXTS + p.n_texts * 0x40;

	memcpy(p.data + at, text, strlen(text));
	put64(p.data + ARRAY + p.n_texts * 16, DATA_AT + BIAS + at);
	put64(p.data + ARRAY + p.n_texts * 16 + 8, strlen(text));
	p.n_texts++;
}

static int read_reasons(struct golang_reasons *out)
{
	fixture_load(&p.file, fixture_add(&p.file, ".data", SHT_PROGBITS, p.data, sizeof(p.data)),
		     DATA_AT, PF_R | PF_W);
	p.memory.read = read_data;
	p.memory.ctx = &p;
	return golang_reasons_read(fixture_open(&p.file), &p.memory, BIAS, out);
}

static void reasons_have_the_numbers_of_the_program(void **state)
{
	struct golang_reasons reasons;

	add_reason("");
	add_reason("GC assist marking");
	add_reason("IO wait");
	add_reason("chan receive");
	assert_int_equal(read_reasons(&reasons), 0);
	assert_int_equal(reasons.n, 4);
	assert_string_equal(reasons.text[0], "");
	assert_string_equal(reasons.text[3], "chan receive");
}

static void an_array_of_other_texts_is_none_of_reasons(void **state)
{
	struct golang_reasons reasons;

	add_reason("");
	add_reason("GC assist marking");
	add_reason("select");
	add_reason("IO wait");
	assert_int_equal(read_reasons(&reasons), -ENOENT);
	assert_int_equal(reasons.n, 0);
}

static void the_array_ends_at_what_is_no_text(void **state)
{
	struct golang_reasons reasons;

	add_reason("");
	add_reason("GC assist marking");
	add_reason("IO wait");
	add_reason("chan\x1b[31m");
	add_reason("select");
	assert_int_equal(read_reasons(&reasons), 0);
	assert_int_equal(reasons.n, 3);
	assert_string_equal(reasons.text[3], "");
}

static void the_array_ends_at_an_address_that_is_not_mapped(void **state)
{
	struct golang_reasons reasons;

	add_reason("");
	add_reason("GC assist marking");
	add_reason("IO wait");
	add_reason("select");
	put64(p.data + ARRAY + 3 * 16, 0x1234);
	assert_int_equal(read_reasons(&reasons), 0);
	assert_int_equal(reasons.n, 3);
}

static void files_without_the_text_have_no_reasons(void **state)
{
	struct golang_reasons reasons;

	add_reason("");
	add_reason("GC assist");
	assert_int_equal(read_reasons(&reasons), -ENOENT);
}

static void after_the_deadline_there_are_no_reasons(void **state)
{
	struct golang_reasons reasons;

	add_reason("");
	add_reason("GC assist marking");
	add_reason("IO wait");
	p.memory.deadline_ns = 1;
	assert_int_equal(read_reasons(&reasons), -ENOENT);
	assert_int_equal(reasons.n, 0);
}

#define LAYOUT_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

TEST_GROUP(test_golang_layout, LAYOUT_TEST(symbols_are_the_list),
	   LAYOUT_TEST(a_stripped_programs_code_loads_the_list),
	   LAYOUT_TEST(arm64_code_loads_the_list), LAYOUT_TEST(loads_have_a_width),
	   LAYOUT_TEST(arm64_loads_have_a_width), LAYOUT_TEST(code_without_the_loads_has_no_list),
	   LAYOUT_TEST(other_functions_have_no_list),
	   LAYOUT_TEST(releases_before_the_first_are_refused),
	   LAYOUT_TEST(other_programs_are_no_go),
	   LAYOUT_TEST(reasons_have_the_numbers_of_the_program),
	   LAYOUT_TEST(an_array_of_other_texts_is_none_of_reasons),
	   LAYOUT_TEST(the_array_ends_at_what_is_no_text),
	   LAYOUT_TEST(the_array_ends_at_an_address_that_is_not_mapped),
	   LAYOUT_TEST(files_without_the_text_have_no_reasons),
	   LAYOUT_TEST(after_the_deadline_there_are_no_reasons))
