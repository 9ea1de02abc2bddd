/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/elf/gopclntab_table.c */
#include "elf/gopclntab.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "elf/image.h"
#include "tests/test.h"

/*
 * A program without section headers: main.outer at TEXT + 0x100 with
 * main.inlined in its second 16 bytes, main.leaf at TEXT + 0x140 up to 0x160.
 */
enum {
	BASE = 0x400000,
	NOTE = 0x200,
	TABLE = 0x400,
	MODULE = 0x1000,
	GOFUNC = 0x1200,
	SECTIONS = 0x1300, /* the only entry of textsectmap */
	RELA = 0x1400,
	DYNAMIC = 0x1600,
	TEXT = 0x1800,
	FILE_LEN = 0x2000,
	OUTER = BASE + TEXT + 0x100,
	LEAF = BASE + TEXT + 0x140,
	END = BASE + TEXT + 0x160,

	/* the parts of the table; all but the first two could also be in another order */
	NAMES = 0x60,
	CUS = 0xc0,
	FILES = 0xd0,
	PCS = 0xe0,
	FUNCS = 0x140,
	RECORDS = 0x1a0, /* from FUNCS */
	RECORD_LEN = 0x60,
};

enum format { GO_1_2, GO_1_12, GO_1_13, GO_1_16, GO_1_18, GO_1_20, GO_1_26, GO_1_27, GO_MAX };

struct file {
	uint8_t bytes[FILE_LEN];
	enum format format;
	bool pie;
	size_t n_rela;
};

static void put32(struct file *f, size_t at, uint32_t v)
{
	memcpy(f->bytes + at, &v, sizeof(v));
}

/* Stores an address, either in place or as a relocation. */
static void put_addr(struct file *f, size_t at, uint64_t v)
{
	Elf64_Rela r = { .r_offset = BASE + at, .r_info = R_X86_64_RELATIVE, .r_addend = v };

	if (f->pie)
		memcpy(f->bytes + RELA + f->n_rela++ * sizeof(r), &r, sizeof(r));
	else
		memcpy(f->bytes + at, &v, sizeof(v));
}

static void put64(struct file *f, size_t at, uint64_t v)
{
	memcpy(f->bytes + at, &v, sizeof(v));
}

static bool is_old(const struct file *f)
{
	return f->format <= GO_1_13;
}

static bool has_addresses(const struct file *f)
{
	return f->format <= GO_1_16;
}

static void put_headers(struct file *f)
{
	static const uint8_t note[] = "\4\0\0\0\4\0\0\0\4\0\0\0Go\0\0id\0";
	Elf64_Ehdr eh = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = f->pie ? ET_DYN : ET_EXEC,
		.e_machine = EM_X86_64,
		.e_phoff = sizeof(eh),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 3,
	};
	Elf64_Phdr ph[] = {
		{ .p_type = PT_LOAD, .p_vaddr = BASE, .p_filesz = FILE_LEN, .p_memsz = FILE_LEN },
		{ .p_type = PT_NOTE, .p_vaddr = BASE + NOTE, .p_offset = NOTE, .p_filesz = 20 },
		{ .p_type = PT_DYNAMIC,
		  .p_vaddr = BASE + DYNAMIC,
		  .p_offset = DYNAMIC,
		  .p_filesz = 3 * sizeof(Elf64_Dyn) },
	};
	Elf64_Dyn dyn[] = {
		{ .d_tag = DT_RELA, .d_un.d_val = BASE + RELA },
		{ .d_tag = DT_RELASZ, .d_un.d_val = f->n_rela * sizeof(Elf64_Rela) },
	};

	memcpy(f->bytes, &eh, sizeof(eh));
	memcpy(f->bytes + sizeof(eh), ph, sizeof(ph));
	memcpy(f->bytes + NOTE, note, sizeof(note) - 1);
	memcpy(f->bytes + DYNAMIC, dyn, sizeof(dyn));
}

static void put_values(struct file *f)
{
	static const uint8_t depths[] = { 2, 4, 48, 0x3c, 0 };        /* 0, then 24 */
	static const uint8_t lines[] = { 22, 16, 20, 16, 17, 32, 0 }; /* 10, 20, 11 */
	static const uint8_t inlined[] = { 0, 16, 2, 16, 1, 32, 0 };  /* -1, 0, -1 */
	static const uint8_t no_depth[] = { 2, 32, 0 }, line_30[] = { 62, 32, 0 };
	/* old tables count files from 1, newer ones from 0 */
	uint8_t first_file[] = { is_old(f) ? 4 : 2, 64, 0 };
	size_t at = TABLE + PCS;

	memcpy(f->bytes + at + 0x08, depths, sizeof(depths));
	memcpy(f->bytes + at + 0x10, lines, sizeof(lines));
	memcpy(f->bytes + at + 0x18, inlined, sizeof(inlined));
	memcpy(f->bytes + at + 0x20, no_depth, sizeof(no_depth));
	memcpy(f->bytes + at + 0x28, line_30, sizeof(line_30));
	memcpy(f->bytes + at + 0x30, first_file, sizeof(first_file));
}

static void put_strings(struct file *f)
{
	size_t names = TABLE + NAMES, files = TABLE + FILES;

	memcpy(f->bytes + names + 0x08, "main.outer", 11);
	memcpy(f->bytes + names + 0x18, "main.inlined", 13);
	memcpy(f->bytes + names + 0x28, "main.leaf", 10);
	memcpy(f->bytes + files + 2, "/a.go", 6);
	if (is_old(f)) {
		put32(f, TABLE + CUS, 2);
		put32(f, TABLE + CUS + 4, FILES + 2);
	} else {
		put32(f, TABLE + CUS + 4, 2); /* the unit's files begin at index 1 */
	}
}

/* Offsets of values and strings are relative to the start of the table or of their own part. */
static uint32_t value_at(const struct file *f, uint32_t off)
{
	return is_old(f) ? PCS + off : off;
}

static uint32_t name_at(const struct file *f, uint32_t off)
{
	return is_old(f) ? NAMES + off : off;
}

static void put_record(struct file *f, unsigned int index, uint64_t entry, uint32_t name,
		       uint32_t depths, uint32_t lines)
{
	size_t at = TABLE + FUNCS + RECORDS + index * RECORD_LEN;
	unsigned int pcdata = f->format <= GO_1_12 ? 1 : 2;
	unsigned int funcdata = f->format <= GO_1_12 ? 2 : f->format == GO_1_13 ? 4 : 3;
	unsigned int n_funcdata = index ? 0 : funcdata + 1;

	if (has_addresses(f))
		put_addr(f, at, entry);
	else
		put32(f, at, entry - BASE - TEXT);
	at += has_addresses(f) ? 8 : 4;
	put32(f, at, name_at(f, name));
	put32(f, at + 12, value_at(f, depths));
	put32(f, at + 16, value_at(f, 0x30));
	put32(f, at + 20, value_at(f, lines));
	put32(f, at + 24, index ? 0 : pcdata + 1);
	at += 28;
	if (!is_old(f)) {
		put32(f, at, 1);
		at += 4;
	}
	if (f->format >= GO_1_20) {
		put32(f, at, index ? 29 : 9);
		at += 4;
	}
	put32(f, at, f->format == GO_1_2 ? n_funcdata : n_funcdata << 24 | index << 8);
	at += 4;
	if (index)
		return;
	put32(f, at + 4 * pcdata, value_at(f, 0x18));
	at += 4 * (pcdata + 1);
	if (has_addresses(f))
		put_addr(f, (at + 7) / 8 * 8 + 8 * funcdata, BASE + GOFUNC + 0x40);
	else
		put32(f, at + 4 * funcdata, 0x40);
}

static void put_array(struct file *f)
{
	static const uint64_t entries[] = { OUTER, LEAF, END };
	uint32_t records = (is_old(f) ? FUNCS : 0) + RECORDS;
	/* the old array follows the header at once */
	size_t at = TABLE + (is_old(f) ? 16 : FUNCS);

	for (unsigned int i = 0; i < 3; i++) {
		if (has_addresses(f)) {
			put_addr(f, at + i * 16, entries[i]);
			put32(f, at + i * 16 + 8, i < 2 ? records + i * RECORD_LEN : CUS);
		} else {
			put32(f, at + i * 8, entries[i] - BASE - TEXT);
			put32(f, at + i * 8 + 4, records + i * RECORD_LEN);
		}
	}
}

static void put_inline_tree(struct file *f)
{
	size_t at = GOFUNC + 0x40;

	if (f->format >= GO_1_20) { /* id, name, pc of the call, start line */
		put32(f, at + 4, name_at(f, 0x18));
		put32(f, at + 8, 0x20);
		put32(f, at + 12, 19);
		return;
	}
	put32(f, at, f->format == GO_1_2 ? 0xffffffff : 0xffff); /* parent */
	put32(f, at + 4, is_old(f) ? 1 : 0);
	put32(f, at + 8, 11);
	put32(f, at + 12, name_at(f, 0x18));
}

/* The words after the bounds are at other places in each version: see runtime/symtab.go. */
static void put_module_end(struct file *f)
{
	size_t at = MODULE + (f->format == GO_1_18 ? 38 : f->format == GO_1_27 ? 43 : 40) * 8;

	put_addr(f, at, BASE + GOFUNC);
	at += 8;
	if (f->format >= GO_1_26) { /* epclntab */
		put_addr(f, at, BASE + GOFUNC + 0x80);
		at += 8;
	}
	put_addr(f, at, BASE + SECTIONS);
	put64(f, at + 8, 1);
	put64(f, at + 16, 1);
	put64(f, SECTIONS + 8, 0x200);
	put_addr(f, SECTIONS + 16, BASE + TEXT);
}

static void put_module(struct file *f)
{
	put_addr(f, MODULE, BASE + TABLE);
	put_addr(f, MODULE + 13 * 8, BASE + TABLE + FUNCS);
	put64(f, MODULE + 14 * 8, GOFUNC - TABLE - FUNCS);
	put64(f, MODULE + 17 * 8, 3);
	put_addr(f, MODULE + 20 * 8, OUTER);
	put_addr(f, MODULE + 21 * 8, END);
	put_addr(f, MODULE + 22 * 8, BASE + TEXT);
	put_module_end(f);
}

static void put_table_header(struct file *f)
{
	static const uint32_t magic[] = { 0xfffffffb, 0xfffffffb, 0xfffffffb, 0xfffffffa,
					  0xfffffff0, 0xfffffff1, 0xfffffff1, 0xfffffff1 };
	static const uint32_t parts[] = { NAMES, CUS, FILES, PCS, FUNCS };
	size_t at = TABLE + (has_addresses(f) ? 24 : 32);

	put32(f, TABLE, magic[f->format]);
	f->bytes[TABLE + 6] = 1;
	f->bytes[TABLE + 7] = 8;
	put64(f, TABLE + 8, 2);
	for (size_t i = 0; i < 5 && !is_old(f); i++)
		put64(f, at + i * 8, parts[i]);
	if (f->format == GO_1_18 || f->format == GO_1_20)
		put_addr(f, TABLE + 24, BASE + TEXT);
}

static void file_init(struct file *f, enum format format, bool pie)
{
	*f = (struct file){ .format = format, .pie = pie };
	put_table_header(f);
	put_values(f);
	put_strings(f);
	put_array(f);
	put_record(f, 0, OUTER, 0x08, 0x08, 0x10);
	put_record(f, 1, LEAF, 0x28, 0x20, 0x28);
	put_inline_tree(f);
	if (format >= GO_1_18)
		put_module(f);
	if (format == GO_1_13)
		memcpy(f->bytes + 0x300, "\xff Go buildinf:", 14);
	put_headers(f);
}

static struct elf_image *image_of(const struct file *f)
{
	struct elf_image *img = NULL;

	assert_int_equal(elf_image_from_memory(&img, f->bytes, sizeof(f->bytes), NULL), 0);
	return img;
}

typedef void (*check_fn)(const struct gopclntab *t, enum format format);

static void for_each_format(check_fn check)
{
	for (int i = 0; i < GO_MAX * 2; i++) {
		_cleanup_(gopclntab_freep) struct gopclntab *t = NULL;
		_cleanup_(elf_image_freep) struct elf_image *img = NULL;
		struct err err = { 0 };
		struct file f;

		file_init(&f, i / 2, i % 2);
		img = image_of(&f);
		if (gopclntab_open(&t, img, &err) < 0)
			fail_msg("format %d, pie %d: %s", i / 2, i % 2, err.msg);
		check(t, i / 2);
	}
}

static void check_functions(const struct gopclntab *t, enum format format)
{
	struct gopclntab_func f;

	assert_int_equal(gopclntab_count(t), 2);
	assert_int_equal(gopclntab_func_at(t, 0, &f), 0);
	assert_string_equal(f.name, "main.outer");
	assert_int_equal(f.start, OUTER);
	assert_int_equal(f.end, LEAF);
	assert_int_equal(f.flags, 0);
	assert_int_equal(gopclntab_func_at(t, 1, &f), 0);
	assert_string_equal(f.name, "main.leaf");
	assert_int_equal(f.end, END);
	assert_int_equal(f.flags, format == GO_1_2 ? 0 : GOPCLNTAB_TOP_FRAME);
	assert_int_equal(gopclntab_func_at(t, 2, &f), -ENOENT);
}

static void reads_the_functions_of_every_format(void **state)
{
	for_each_format(check_functions);
}

static void check_find(const struct gopclntab *t, enum format format)
{
	struct gopclntab_func f;

	assert_int_equal(gopclntab_find(t, OUTER - 1, &f), -ENOENT);
	assert_int_equal(gopclntab_find(t, OUTER, &f), 0);
	assert_int_equal(f.index, 0);
	assert_int_equal(gopclntab_find(t, LEAF - 1, &f), 0);
	assert_int_equal(f.index, 0);
	assert_int_equal(gopclntab_find(t, LEAF, &f), 0);
	assert_int_equal(f.index, 1);
	assert_int_equal(gopclntab_find(t, END - 1, &f), 0);
	assert_int_equal(gopclntab_find(t, END, &f), -ENOENT);
}

static void finds_a_function_by_any_of_its_addresses(void **state)
{
	for_each_format(check_find);
}

static void check_frame(const struct gopclntab_frame *f, const char *function, uint32_t line,
			uint32_t start_line)
{
	assert_string_equal(f->function, function);
	assert_string_equal(f->file, "/a.go");
	assert_int_equal(f->line, line);
	assert_int_equal(f->start_line, start_line);
}

static void check_frames(const struct gopclntab *t, enum format format)
{
	struct gopclntab_frame frames[4];
	bool starts = format >= GO_1_20;

	assert_int_equal(gopclntab_frames(t, OUTER, frames, 4), 1);
	check_frame(&frames[0], "main.outer", 10, starts ? 9 : 0);
	assert_int_equal(gopclntab_frames(t, OUTER + 0x1f, frames, 4), 2);
	check_frame(&frames[0], "main.inlined", 20, starts ? 19 : 0);
	check_frame(&frames[1], "main.outer", 11, starts ? 9 : 0);
	assert_int_equal(gopclntab_frames(t, OUTER + 0x20, frames, 4), 1);
	check_frame(&frames[0], "main.outer", 11, starts ? 9 : 0);
	assert_int_equal(gopclntab_frames(t, LEAF + 1, frames, 4), 1);
	check_frame(&frames[0], "main.leaf", 30, starts ? 29 : 0);
	assert_int_equal(gopclntab_frames(t, END, frames, 4), -ENOENT);
}

static void expands_inlined_calls_in_every_format(void **state)
{
	for_each_format(check_frames);
}

static void check_room(const struct gopclntab *t, enum format format)
{
	struct gopclntab_frame frames[2] = { { 0 }, { .line = 77 } };

	assert_int_equal(gopclntab_frames(t, OUTER + 0x10, frames, 0), -ENOENT);
	assert_int_equal(gopclntab_frames(t, OUTER + 0x10, frames, 1), 1);
	assert_string_equal(frames[0].function, "main.inlined");
	assert_int_equal(frames[1].line, 77);
}

static void keeps_the_innermost_frames_when_there_is_no_room(void **state)
{
	for_each_format(check_room);
}

struct depths {
	uint64_t start[4], end[4];
	int32_t depth[4];
	size_t n;
	size_t stop_after;
};

static int add_depth(void *ctx, uint64_t start, uint64_t end, int32_t depth)
{
	struct depths *d = ctx;

	d->start[d->n] = start;
	d->end[d->n] = end;
	d->depth[d->n] = depth;
	return ++d->n == d->stop_after ? -EINTR : 0;
}

static void check_depths(const struct gopclntab *t, enum format format)
{
	struct depths d = { 0 };

	assert_int_equal(gopclntab_spdeltas(t, 0, add_depth, &d), 0);
	assert_int_equal(d.n, 2);
	assert_int_equal(d.start[0], OUTER);
	assert_int_equal(d.end[0], OUTER + 4);
	assert_int_equal(d.depth[0], 0);
	assert_int_equal(d.start[1], OUTER + 4);
	assert_int_equal(d.end[1], LEAF);
	assert_int_equal(d.depth[1], 24);

	d = (struct depths){ .stop_after = 1 };
	assert_int_equal(gopclntab_spdeltas(t, 0, add_depth, &d), -EINTR);
	assert_int_equal(d.n, 1);
	assert_int_equal(gopclntab_spdeltas(t, 2, add_depth, &d), -ENOENT);
}

static void reads_the_stack_depth_in_every_format(void **state)
{
	for_each_format(check_depths);
}

static void uses_the_text_address_of_the_header_without_module_data(void **state)
{
	_cleanup_(gopclntab_freep) struct gopclntab *t = NULL;
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	struct gopclntab_frame frames[4];
	struct file f;

	file_init(&f, GO_1_20, false);
	memset(f.bytes + MODULE, 0, 0x200);
	img = image_of(&f);
	assert_int_equal(gopclntab_open(&t, img, NULL), 0);
	/* the inline tree cannot be found then, but the function can */
	assert_int_equal(gopclntab_frames(t, OUTER + 0x10, frames, 4), 1);
	assert_string_equal(frames[0].function, "main.outer");
}

static void assert_refused(const struct file *f, int code)
{
	_cleanup_(gopclntab_freep) struct gopclntab *t = NULL;
	_cleanup_(elf_image_freep) struct elf_image *img = image_of(f);
	struct err err = { 0 };

	assert_int_equal(gopclntab_open(&t, img, &err), code);
	assert_int_equal(err.code, code);
	assert_null(t);
}

static void refuses_a_file_without_a_go_table(void **state)
{
	struct file f;

	file_init(&f, GO_1_20, false);
	f.bytes[NOTE + 12] = 'X';
	assert_refused(&f, -ENOENT);
}

static void refuses_a_table_whose_functions_are_out_of_order(void **state)
{
	struct file f;

	file_init(&f, GO_1_20, false);
	put32(&f, TABLE + FUNCS + 8, 0x90);
	assert_refused(&f, -ENOENT);
}

static void refuses_a_table_with_more_functions_than_bytes(void **state)
{
	struct file f;

	file_init(&f, GO_1_20, false);
	put64(&f, TABLE + 8, 1ull << 61);
	assert_refused(&f, -ENOENT);
}

static void refuses_a_new_table_without_module_data(void **state)
{
	struct file f;

	file_init(&f, GO_1_26, false);
	put64(&f, MODULE + 22 * 8, BASE + TEXT + 16);
	assert_refused(&f, -EBADMSG);
}

static int ignore_depth(void *ctx, uint64_t start, uint64_t end, int32_t depth)
{
	assert_true(start < end);
	return 0;
}

/* Reads everything, so that a sanitizer detects invalid accesses. */
static void read_everything(const void *bytes, size_t len)
{
	_cleanup_(gopclntab_freep) struct gopclntab *t = NULL;
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	struct gopclntab_frame frames[8];
	struct gopclntab_func f;

	if (elf_image_from_memory(&img, bytes, len, NULL) < 0 || gopclntab_open(&t, img, NULL) < 0)
		return;
	for (size_t i = 0; i < gopclntab_count(t) && i < 8; i++) {
		gopclntab_func_at(t, i, &f);
		gopclntab_spdeltas(t, i, ignore_depth, NULL);
	}
	for (uint64_t pc = OUTER; pc < END; pc += 8)
		if (gopclntab_frames(t, pc, frames, 8) > 0)
			assert_non_null(frames[0].function);
}

static void survives_any_byte_being_wrong(void **state)
{
	static const uint8_t wrong[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	struct file f;

	for (int format = 0; format < GO_MAX; format++) {
		file_init(&f, format, format % 2);
		for (size_t i = 0; i < TEXT; i++) {
			uint8_t right = f.bytes[i];

			for (size_t j = 0; right && j < sizeof(wrong); j++) {
				f.bytes[i] = wrong[j];
				read_everything(f.bytes, sizeof(f.bytes));
			}
			f.bytes[i] = right;
		}
	}
}

static void survives_truncation_anywhere(void **state)
{
	struct file f;

	for (int format = 0; format < GO_MAX; format++) {
		file_init(&f, format, format % 2);
		for (size_t len = 0; len < TEXT; len += 3) {
			_cleanup_(freep) uint8_t *exact = malloc(len + 1);

			assert_non_null(exact);
			memcpy(exact, f.bytes, len);
			read_everything(exact, len);
		}
	}
}

TEST_GROUP(test_gopclntab, TEST(reads_the_functions_of_every_format),
	   TEST(finds_a_function_by_any_of_its_addresses),
	   TEST(expands_inlined_calls_in_every_format),
	   TEST(keeps_the_innermost_frames_when_there_is_no_room),
	   TEST(reads_the_stack_depth_in_every_format),
	   TEST(uses_the_text_address_of_the_header_without_module_data),
	   TEST(refuses_a_file_without_a_go_table),
	   TEST(refuses_a_table_whose_functions_are_out_of_order),
	   TEST(refuses_a_table_with_more_functions_than_bytes),
	   TEST(refuses_a_new_table_without_module_data), TEST(survives_any_byte_being_wrong),
	   TEST(survives_truncation_anywhere))
