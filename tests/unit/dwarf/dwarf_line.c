/* SPDX-License-Identifier: Apache-2.0 */
#include "dwarf/dwarf_line.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>

#include "tests/test.h"
#include "tests/unit/dwarf/fixture.h"

/* The header that put_header() writes. */
enum { LINE_BASE = -3, LINE_RANGE = 12, OPCODE_BASE = 13, MIN_INST_LEN = 1 };

static struct buf *lines(struct dwarf_fixture *f)
{
	return &f->s[DWARF_LINE];
}

/* Tables of directories and files: "src", "/abs"; "a.c" in src, "b.c" in /abs, "/c.c", "d.c". */
static void put_tables(struct dwarf_fixture *f, uint16_t version)
{
	static const struct {
		const char *name;
		uint8_t dir;
	} files[] = { { "a.c", 1 }, { "b.c", 2 }, { "/c.c", 1 }, { "d.c", 0 }, { "e.c", 9 } };
	enum { N = sizeof(files) / sizeof(*files) };

	if (version < 5) {
		put_string(lines(f), "src");
		put_string(lines(f), "/abs");
		PUT(lines(f), 0);
	} else {
		PUT(lines(f), 1, DW_LNCT_path, DW_FORM_string, 3);
		put_string(lines(f), "/comp");
		put_string(lines(f), "src");
		put_string(lines(f), "/abs");
		PUT(lines(f), 3, DW_LNCT_path, DW_FORM_string, DW_LNCT_MD5, DW_FORM_data16,
		    DW_LNCT_directory_index, DW_FORM_udata, N);
	}
	for (size_t i = 0; i < N; i++) {
		put_string(lines(f), files[i].name);
		if (version >= 5) {
			put_uint(lines(f), i, 8); /* the MD5 */
			put_uint(lines(f), 0, 8);
		}
		PUT(lines(f), files[i].dir);
		if (version < 5)
			PUT(lines(f), 0, 0);
	}
	if (version < 5)
		PUT(lines(f), 0);
}

/* Begins a line table. Returns its offset, for end_program(). */
static size_t begin_program(struct dwarf_fixture *f, uint16_t version)
{
	static const uint8_t op_lens[] = { 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 };
	size_t at = lines(f)->len, header;

	put_uint(lines(f), 0, 4);
	put_uint(lines(f), version, 2);
	if (version >= 5)
		PUT(lines(f), 8, 0);
	header = lines(f)->len;
	put_uint(lines(f), 0, 4);
	PUT(lines(f), MIN_INST_LEN);
	if (version >= 4)
		PUT(lines(f), 1);
	PUT(lines(f), 1, (uint8_t)LINE_BASE, LINE_RANGE, OPCODE_BASE);
	buf_put(lines(f), op_lens, sizeof(op_lens));
	put_tables(f, version);
	patch_length(lines(f), header);
	return at;
}

static void end_program(struct dwarf_fixture *f, size_t at)
{
	patch_length(lines(f), at);
}

static void set_address(struct dwarf_fixture *f, uint64_t addr)
{
	PUT(lines(f), 0, 9, DW_LNE_set_address);
	put_uint(lines(f), addr, 8);
}

static void end_sequence(struct dwarf_fixture *f)
{
	PUT(lines(f), 0, 1, DW_LNE_end_sequence);
}

static void advance(struct dwarf_fixture *f, uint64_t bytes, int64_t n_lines)
{
	PUT(lines(f), DW_LNS_advance_pc);
	put_uleb(lines(f), bytes);
	PUT(lines(f), DW_LNS_advance_line);
	put_sleb(lines(f), n_lines);
	PUT(lines(f), DW_LNS_copy);
}

/* Returns the unit whose line table is at @off. */
static struct dwarf_unit *unit_at(struct dwarf_fixture *f, uint64_t off)
{
	struct dwarf_unit *u;

	f->s[DWARF_INFO].len = 0;
	end_unit(f, begin_unit(f, 4, 0));
	u = dwarf_fixture_unit(f);
	u->has_stmt_list = true;
	u->stmt_list = off;
	u->comp_dir = "/comp";
	return u;
}

static struct dwarf_lines *build(struct dwarf_fixture *f)
{
	struct dwarf_lines *l;

	assert_int_equal(dwarf_lines_build(&l, unit_at(f, 0)), 0);
	return l;
}

/* A @want_line of -1 means that no row covers @addr. */
static void check(const struct dwarf_lines *l, uint64_t addr, int64_t want_line)
{
	struct dwarf_position at = { 0 };

	assert_int_equal(dwarf_lines_find(l, addr, &at), want_line < 0 ? -ENOENT : 0);
	if (want_line >= 0)
		assert_int_equal(at.line, want_line);
}

/* ---- a model: one row for each byte of a function ------------------------------------- */

enum { START = 0x1000, MODEL_BYTES = 3000, ROWS = 400 };

struct model {
	uint32_t file[MODEL_BYTES], line[MODEL_BYTES]; /* line 0: not covered */
	uint32_t cur_file, cur_line;
	size_t at;
};

/* Encodes an advance by @bytes in one of the ways that the format has. */
static void put_advance(struct dwarf_fixture *f, uint32_t bytes)
{
	enum { CONST_ADD = (255 - OPCODE_BASE) / LINE_RANGE };

	switch (random() % 3) {
	case 0:
		PUT(lines(f), DW_LNS_fixed_advance_pc);
		put_uint(lines(f), bytes, 2);
		return;
	case 1:
		if (bytes >= CONST_ADD) {
			PUT(lines(f), DW_LNS_const_add_pc);
			bytes -= CONST_ADD;
		}
		break;
	default:
		break;
	}
	PUT(lines(f), DW_LNS_advance_pc);
	put_uleb(lines(f), bytes);
}

/* Emits a row at @bytes and @delta lines further, by a special opcode if one does. */
static void put_row(struct dwarf_fixture *f, uint32_t bytes, int delta)
{
	int op = (delta - LINE_BASE) + LINE_RANGE * (int)bytes + OPCODE_BASE;

	if (delta >= LINE_BASE && delta < LINE_BASE + LINE_RANGE && bytes < 20 && op <= 255) {
		PUT(lines(f), (uint8_t)op);
		return;
	}
	put_advance(f, bytes);
	PUT(lines(f), DW_LNS_advance_line);
	put_sleb(lines(f), delta);
	PUT(lines(f), DW_LNS_copy);
}

static void put_ignored(struct dwarf_fixture *f)
{
	switch (random() % 6) {
	case 0:
		PUT(lines(f), DW_LNS_set_column, 0x80, 1);
		break;
	case 1:
		PUT(lines(f), DW_LNS_negate_stmt, DW_LNS_set_basic_block, DW_LNS_set_prologue_end,
		    DW_LNS_set_epilogue_begin, DW_LNS_set_isa, 3);
		break;
	case 2:
		PUT(lines(f), 0, 2, DW_LNE_set_discriminator, 7);
		break;
	case 3:
		PUT(lines(f), 0, 4, DW_LNE_lo_user + 1, 1, 2, 3);
		break;
	default:
		break;
	}
}

/* Appends a random row to the program and to the model. */
static void extend(struct dwarf_fixture *f, struct model *m)
{
	uint32_t bytes = (uint32_t)random() % 16;
	int delta = (int)(random() % 60) - 20;

	if ((int)m->cur_line + delta < 1)
		delta = 5;
	if (random() % 8 == 0) {
		m->cur_file = 1 + (uint32_t)random() % 4;
		PUT(lines(f), DW_LNS_set_file);
		put_uleb(lines(f), m->cur_file);
	}
	put_ignored(f);
	for (size_t to = m->at + bytes; m->at < to; m->at++) {
		m->file[m->at + 1] = m->file[m->at];
		m->line[m->at + 1] = m->line[m->at];
	}
	put_row(f, bytes, delta);
	m->cur_line = (uint32_t)((int)m->cur_line + delta);
	m->file[m->at] = m->cur_file;
	m->line[m->at] = m->cur_line;
}

static void check_model(const struct dwarf_lines *l, const struct model *m, size_t end)
{
	for (size_t i = 0; i < end; i++) {
		struct dwarf_position at = { 0 };
		int r = dwarf_lines_find(l, START + i, &at);

		assert_int_equal(r, m->line[i] ? 0 : -ENOENT);
		assert_int_equal(at.line, m->line[i]);
		if (r == 0)
			assert_int_equal(at.file, m->file[i]);
	}
	check(l, START + end, -1);
	check(l, START - 1, -1);
}

static void random_programs_cover_what_a_plain_model_does(void **state)
{
	struct dwarf_fixture *f = *state;

	srandom(7);
	for (int round = 0; round < 60; round++) {
		uint16_t version = (uint16_t)(2 + round % 4);
		struct model *m = calloc(1, sizeof(*m));
		struct dwarf_lines *l;
		size_t at;

		assert_non_null(m);
		m->cur_file = m->cur_line = 1;
		lines(f)->len = 0;
		at = begin_program(f, version);
		set_address(f, START);
		for (int i = 0; i < ROWS && m->at < MODEL_BYTES - 100; i++)
			extend(f, m);
		for (int i = 0; i < 10; i++, m->at++) {
			m->file[m->at + 1] = m->file[m->at];
			m->line[m->at + 1] = m->line[m->at];
		}
		PUT(lines(f), DW_LNS_advance_pc, 10);
		end_sequence(f);
		end_program(f, at);
		l = build(f);
		check_model(l, m, m->at);
		dwarf_lines_free(l);
		free(m);
	}
}

/* ---- headers and paths ----------------------------------------------------------------- */

static void paths_join_directories(void **state)
{
	static const char *const want[] = { "/comp/src/a.c", "/abs/b.c", "/c.c", "/comp/d.c",
					    "/comp/e.c" };
	struct dwarf_fixture *f = *state;

	for (uint16_t version = 2; version <= 5; version++) {
		uint32_t first = version < 5 ? 1 : 0;
		struct dwarf_lines *l;
		struct dwarf_unit *u;
		size_t before;

		lines(f)->len = 0;
		end_program(f, begin_program(f, version));
		u = unit_at(f, 0);
		assert_int_equal(dwarf_lines_build(&l, u), 0);
		before = dwarf_lines_bytes(l);
		for (int twice = 0; twice < 2; twice++)
			for (uint32_t i = 0; i < 5; i++)
				assert_string_equal(dwarf_lines_path(l, u, first + i), want[i]);
		assert_true(dwarf_lines_bytes(l) > before);
		assert_string_equal(dwarf_lines_path(l, u, first + 5), "");
		assert_string_equal(dwarf_lines_path(l, u, UINT32_MAX), "");
		if (first)
			assert_string_equal(dwarf_lines_path(l, u, 0), "");
		dwarf_lines_free(l);
	}
}

static void a_unit_without_directory_has_relative_paths(void **state)
{
	struct dwarf_fixture *f = *state;
	struct dwarf_lines *l;
	struct dwarf_unit *u;

	end_program(f, begin_program(f, 4));
	u = unit_at(f, 0);
	u->comp_dir = NULL;
	assert_int_equal(dwarf_lines_build(&l, u), 0);
	assert_string_equal(dwarf_lines_path(l, u, 1), "src/a.c");
	assert_string_equal(dwarf_lines_path(l, u, 4), "d.c");
	dwarf_lines_free(l);
}

static void a_unit_without_a_line_table_has_no_lines(void **state)
{
	struct dwarf_fixture *f = *state;
	struct dwarf_unit *u = unit_at(f, 0);
	struct dwarf_lines *l;

	assert_int_equal(dwarf_lines_build(&l, u), -ENODATA);
	end_program(f, begin_program(f, 4));
	u = unit_at(f, lines(f)->len + 1);
	assert_int_equal(dwarf_lines_build(&l, u), -ENODATA);
	u = unit_at(f, UINT64_MAX);
	assert_int_equal(dwarf_lines_build(&l, u), -ENODATA);
	u = unit_at(f, 0);
	u->has_stmt_list = false;
	assert_int_equal(dwarf_lines_build(&l, u), -ENODATA);
}

/* Offsets in the header of version 4. */
enum { AT_VERSION = 4, AT_HEADER_LEN = 6, AT_LINE_RANGE = 14, AT_OPCODE_BASE = 15 };

static void malformed_headers_are_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
	} cases[] = {
		{ 0, 0xff },          { 3, 0x01 },           { AT_VERSION, 1 },
		{ AT_VERSION, 6 },    { AT_VERSION + 1, 1 }, { AT_HEADER_LEN + 3, 1 },
		{ AT_LINE_RANGE, 0 }, { AT_OPCODE_BASE, 0 }, { AT_OPCODE_BASE, 255 },
	};
	struct dwarf_fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct dwarf_lines *l;

		lines(f)->len = 0;
		end_program(f, begin_program(f, 4));
		lines(f)->data[cases[i].at] = cases[i].value;
		assert_int_equal(dwarf_lines_build(&l, unit_at(f, 0)), -EBADMSG);
	}
}

static void an_opcode_base_of_one_leaves_special_opcodes_only(void **state)
{
	struct dwarf_fixture *f = *state;
	struct dwarf_lines *l;

	put_uint(lines(f), 0, 4);
	put_uint(lines(f), 4, 2);
	put_uint(lines(f), 6 + 2, 4);
	PUT(lines(f), 1, 1, 1, 0, 1, 1, 0, 0);
	set_address(f, 0x1000);
	PUT(lines(f), 1 + 4); /* 4 bytes further */
	end_sequence(f);
	end_program(f, 0);
	l = build(f);
	check(l, 0x1004, -1); /* The sequence is empty: it ends where it begins. */
	dwarf_lines_free(l);
}

static void tables_of_version_5_may_not_be_larger_than_the_section(void **state)
{
	static const uint8_t tables[][12] = {
		{ 1, DW_LNCT_path, DW_FORM_string, 0xff, 0xff, 0xff, 0xff, 0x7f }, /* entries */
		{ 0, 1 },                                /* entries without a format */
		{ 17 },                                  /* formats */
		{ 1, DW_LNCT_path, 0x7f, 1, 'a', 0 },    /* an unknown form */
		{ 1, DW_LNCT_path, DW_FORM_string, 50 }, /* more entries than bytes */
	};
	struct dwarf_fixture *f = *state;

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		struct dwarf_lines *l;

		lines(f)->len = 0;
		put_uint(lines(f), 0, 4);
		put_uint(lines(f), 5, 2);
		PUT(lines(f), 8, 0);
		put_uint(lines(f), 6 + sizeof(tables[i]), 4);
		PUT(lines(f), 1, 1, 1, 0, 1, 1);
		buf_put(lines(f), tables[i], sizeof(tables[i]));
		end_program(f, 0);
		assert_int_equal(dwarf_lines_build(&l, unit_at(f, 0)), -EBADMSG);
	}
}

static void entries_without_bytes_are_limited(void **state)
{
	struct dwarf_fixture *f = *state;
	struct dwarf_lines *l;

	put_uint(lines(f), 0, 4);
	put_uint(lines(f), 5, 2);
	PUT(lines(f), 8, 0);
	put_uint(lines(f), 100, 4);
	PUT(lines(f), 1, 1, 1, 0, 1, 1);
	PUT(lines(f), 1, DW_LNCT_path, DW_FORM_flag_present);
	put_uleb(lines(f), 1ULL << 60);
	put_uint(lines(f), 0, 8);
	for (int i = 0; i < 100; i++)
		PUT(lines(f), 0);
	end_program(f, 0);
	assert_int_equal(dwarf_lines_build(&l, unit_at(f, 0)), -EBADMSG);
}

/* ---- sequences ------------------------------------------------------------------------- */

static void sequences_are_found_in_any_order_and_may_overlap(void **state)
{
	struct dwarf_fixture *f = *state;
	size_t at = begin_program(f, 4);
	struct dwarf_lines *l;

	set_address(f, 0x9000);
	advance(f, 0, 8);
	PUT(lines(f), DW_LNS_advance_pc, 0x10);
	end_sequence(f);
	set_address(f, 0x1000);
	advance(f, 0, 1);
	PUT(lines(f), DW_LNS_advance_pc, 0xff, 0x01);
	end_sequence(f);
	set_address(f, 0x1010); /* inside the second one */
	advance(f, 0, 2);
	PUT(lines(f), DW_LNS_advance_pc, 0x10);
	end_sequence(f);
	end_program(f, at);
	l = build(f);
	check(l, 0x100f, 2);
	check(l, 0x1010, 3);
	check(l, 0x101f, 3);
	check(l, 0x1020, 2);
	check(l, 0x10ff, -1);
	check(l, 0x900f, 9);
	check(l, 0x9010, -1);
	dwarf_lines_free(l);
}

static void sequences_that_are_discarded_empty_or_unfinished_have_no_rows(void **state)
{
	struct dwarf_fixture *f = *state;
	size_t at = begin_program(f, 4);
	struct dwarf_lines *l;

	set_address(f, 0); /* discarded by the linker */
	advance(f, 0x10, 1);
	set_address(f, 0x100);
	end_sequence(f);
	set_address(f, 1);
	advance(f, 0, 1);
	PUT(lines(f), DW_LNS_advance_pc, 0x10);
	end_sequence(f);
	set_address(f, 0x2000);
	advance(f, 0, 1);
	end_sequence(f); /* empty */
	set_address(f, 0x3000);
	advance(f, 0, 1);
	set_address(f, 0x1000);
	end_sequence(f); /* ends before its beginning */
	set_address(f, 0x4000);
	advance(f, 0, 1);
	advance(f, 0x10, 1);
	end_program(f, at); /* without an end of the sequence */
	l = build(f);
	check(l, 1, -1);
	check(l, 0x2000, -1);
	check(l, 0x3000, -1);
	check(l, 0x4000, -1);
	dwarf_lines_free(l);
}

static void addresses_that_descend_are_sorted_or_ignored(void **state)
{
	struct dwarf_fixture *f = *state;
	size_t at = begin_program(f, 4);
	struct dwarf_lines *l;

	set_address(f, 0x1000);
	advance(f, 0, 1);
	advance(f, 0x20, 1);
	set_address(f, 0x1010);
	advance(f, 0, 1);
	set_address(f, 0x500); /* before the beginning of the sequence */
	advance(f, 0, 50);
	set_address(f, 0x1000 + (1ULL << 33)); /* too far */
	advance(f, 0, 50);
	set_address(f, 0x1030);
	end_sequence(f);
	end_program(f, at);
	l = build(f);
	check(l, 0x100f, 2);
	check(l, 0x1010, 4);
	check(l, 0x101f, 4);
	check(l, 0x1020, 3);
	check(l, 0x102f, 3);
	check(l, 0x500, -1);
	dwarf_lines_free(l);
}

static void an_error_keeps_the_sequences_before_it(void **state)
{
	static const uint8_t bad[][4] = { { 0, 0 }, { 0, 100, 2 }, { 0, 0xff, 0xff, 0xff } };
	struct dwarf_fixture *f = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct dwarf_lines *l;

		lines(f)->len = 0;
		begin_program(f, 4);
		set_address(f, 0x1000);
		advance(f, 0, 1);
		PUT(lines(f), DW_LNS_advance_pc, 0x10);
		end_sequence(f);
		buf_put(lines(f), bad[i], sizeof(bad[i]));
		end_program(f, 0);
		l = build(f);
		check(l, 0x1000, 2);
		dwarf_lines_free(l);
	}
}

/* Cuts the section after each byte, with and without the length in the header. */
static void truncated_tables_are_refused_or_read(void **state)
{
	struct dwarf_fixture *f = *state;

	for (uint16_t version = 2; version <= 5; version++) {
		size_t whole, at;

		lines(f)->len = 0;
		at = begin_program(f, version);
		set_address(f, 0x1000);
		advance(f, 0, 1);
		PUT(lines(f), DW_LNS_advance_pc, 0x10);
		end_sequence(f);
		end_program(f, at);
		whole = lines(f)->len;
		for (size_t len = whole - 1; len > 4; len--)
			for (int patched = 0; patched < 2; patched++) {
				struct dwarf_lines *l;
				int r;

				lines(f)->len = len;
				if (patched)
					end_program(f, at);
				r = dwarf_lines_build(&l, unit_at(f, 0));
				assert_true(r == 0 || r == -EBADMSG);
				if (r)
					continue;
				check(l, 0x1000, -1);
				dwarf_lines_free(l);
			}
	}
}

static void set_discriminator(struct dwarf_fixture *f, uint8_t encoded)
{
	PUT(lines(f), 0, 2, DW_LNE_set_discriminator, encoded);
}

static void a_discriminator_holds_for_one_row(void **state)
{
	struct dwarf_fixture *f = *state;
	struct dwarf_position at;
	size_t off = begin_program(f, 4);
	struct dwarf_lines *l;

	set_address(f, 0x1000);
	set_discriminator(f, 2 << 1);
	advance(f, 0, 1);
	advance(f, 4, 1);
	advance(f, 4, 1);
	end_sequence(f);
	end_program(f, off);
	l = build(f);
	assert_int_equal(dwarf_lines_find(l, 0x1001, &at), 0);
	assert_int_equal(at.discriminator, 2);
	assert_int_equal(dwarf_lines_find(l, 0x1005, &at), 0);
	assert_int_equal(at.discriminator, 0);
	dwarf_lines_free(l);
}

/* The values that llvm::DILocation::encodeDiscriminator() gives for (base, factor, copy). */
static void discriminators_are_decoded_as_llvm_encodes_them(void **state)
{
	assert_int_equal(dwarf_discriminator(0), 0);
	assert_int_equal(dwarf_discriminator(1), 0);
	assert_int_equal(dwarf_discriminator(3 << 1), 3);
	assert_int_equal(dwarf_discriminator(0x1f << 1), 31);
	assert_int_equal(dwarf_discriminator((0x20 | (1 << 6)) << 1), 32); /* two bytes */
	assert_int_equal(dwarf_discriminator((5 << 1) | 4 << 7), 5);       /* with a factor */
	assert_true(dwarf_discriminator(UINT64_MAX - 1) <= DWARF_DISCRIMINATOR_MAX);
}

static void files_have_the_md5_of_dwarf_5(void **state)
{
	static const uint8_t third[16] = { 3 };
	struct dwarf_fixture *f = *state;
	size_t v5 = begin_program(f, 5), v4;
	struct dwarf_lines *l;

	end_program(f, v5);
	v4 = begin_program(f, 4);
	end_program(f, v4);
	assert_int_equal(dwarf_lines_build(&l, unit_at(f, v5)), 0);
	assert_memory_equal(dwarf_lines_md5(l, 3), third, sizeof(third));
	assert_null(dwarf_lines_md5(l, 99));
	dwarf_lines_free(l);
	assert_int_equal(dwarf_lines_build(&l, unit_at(f, v4)), 0);
	assert_null(dwarf_lines_md5(l, 3));
	dwarf_lines_free(l);
}

TEST_GROUP(test_dwarf_line, DWARF_TEST(random_programs_cover_what_a_plain_model_does),
	   DWARF_TEST(paths_join_directories),
	   DWARF_TEST(a_unit_without_directory_has_relative_paths),
	   DWARF_TEST(a_unit_without_a_line_table_has_no_lines),
	   DWARF_TEST(malformed_headers_are_refused),
	   DWARF_TEST(an_opcode_base_of_one_leaves_special_opcodes_only),
	   DWARF_TEST(tables_of_version_5_may_not_be_larger_than_the_section),
	   DWARF_TEST(entries_without_bytes_are_limited),
	   DWARF_TEST(sequences_are_found_in_any_order_and_may_overlap),
	   DWARF_TEST(sequences_that_are_discarded_empty_or_unfinished_have_no_rows),
	   DWARF_TEST(addresses_that_descend_are_sorted_or_ignored),
	   DWARF_TEST(an_error_keeps_the_sequences_before_it),
	   DWARF_TEST(truncated_tables_are_refused_or_read),
	   DWARF_TEST(a_discriminator_holds_for_one_row),
	   TEST(discriminators_are_decoded_as_llvm_encodes_them),
	   DWARF_TEST(files_have_the_md5_of_dwarf_5))
