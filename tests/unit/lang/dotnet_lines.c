/* SPDX-License-Identifier: Apache-2.0 */
/*
 * covers: src/lang/dotnet/debug_info.c src/lang/dotnet/debug_directory.c src/lang/dotnet/pdb.c
 * src/lang/dotnet/stream.c
 */
#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "dotnet_memory.h"
#include "lang/memo.h"
#include "tests/test.h"

int test_dotnet_lines(void);

static struct dotnet_memory m;

/* ---- from native code to IL ------------------------------------------------------- */

enum { INFO_AT = 0x17e00 };

static const struct dotnet_debug_form nibbles = { .patchpoint_words = DOTNET_PATCHPOINT_WORDS_8 };
static const struct dotnet_debug_form packed = { true, DOTNET_PATCHPOINT_WORDS_10 };

static void expect_il(const struct dotnet_debug_form *form, uint32_t native, uint32_t il)
{
	struct dotnet_il found;

	assert_int_equal(dotnet_debug_info_find(&m.process, INFO_AT, form, native, &found), 0);
	assert_true(found.is_known);
	assert_int_equal(found.offset, il);
}

static void expect_bad(const struct dotnet_debug_form *form)
{
	struct dotnet_il found;

	assert_int_equal(dotnet_debug_info_find(&m.process, INFO_AT, form, 9, &found), -EBADMSG);
	assert_false(found.is_known);
}

/* As in dotnet_memory.c: IL 0 until native offset 8, then IL 12. */
static const uint8_t map[] = { 0x06, 0x03, 0x01, 0x34, 0x50, 0x79, 0x00 };

static void maps_native_code_to_il(void **state)
{
	(void)state;
	dotnet_memory_init(&m, false);
	dotnet_memory_put(&m, INFO_AT, "", 1);
	dotnet_memory_put(&m, INFO_AT + 1, map, sizeof(map));
	expect_il(&nibbles, 0, 0);
	expect_il(&nibbles, 8, 0);
	expect_il(&nibbles, 9, 12);
	expect_il(&nibbles, 1000, 12);
}

static void maps_native_code_to_il_in_the_form_of_dotnet_10(void **state)
{
	/*
	 * Three places with 2 bits of kind, 3 of distance, 4 of IL: 0 1, 4 3, 5 15. From the lowest
	 * bit on: 00 000 1000, 00 001 1100, 00 101 1111.
	 */
	const uint32_t bits = 1 << 5 | (4 << 2 | 3 << 5) << 9 | (5 << 2 | 15 << 5) << 18;
	const uint8_t head[] = { 0x00, 0x06, 0x23, 0x03 };

	(void)state;
	dotnet_memory_init(&m, false);
	dotnet_memory_put(&m, INFO_AT, head, sizeof(head));
	dotnet_memory_put(&m, INFO_AT + sizeof(head), &bits, sizeof(bits));
	expect_il(&packed, 3, 0);
	expect_il(&packed, 8, 0);
	expect_il(&packed, 9, 12);
}

static void skips_what_precedes_the_map(void **state)
{
	const uint32_t n_locals = 2, rich = 5;

	(void)state;
	dotnet_memory_init(&m, false);
	dotnet_memory_put(&m, INFO_AT, &(uint8_t){ 3 }, 1);
	dotnet_memory_put(&m, INFO_AT + 1 + 8, &n_locals, 4);
	dotnet_memory_put(&m, INFO_AT + 1 + 40, &rich, 4);
	dotnet_memory_put(&m, INFO_AT + 1 + 40 + 4 + 5, map, sizeof(map));
	expect_il(&nibbles, 9, 12);
}

static void refuses_a_damaged_map(void **state)
{
	(void)state;
	dotnet_memory_init(&m, false);
	dotnet_memory_put(&m, INFO_AT, &(uint8_t){ 0xff }, 1); /* unknown flags */
	expect_bad(&nibbles);
	dotnet_memory_put(&m, INFO_AT, "\0\2\3\1\64", 5); /* fewer bytes than places */
	expect_bad(&nibbles);
	dotnet_memory_put(&m, INFO_AT, "\0\377\377\377\377\377\377", 7); /* an endless number */
	expect_bad(&nibbles);
	dotnet_memory_put(&m, INFO_AT, "\1", 1); /* more locals than there is memory */
	dotnet_memory_put(&m, INFO_AT + 9, &(uint32_t){ UINT32_MAX }, 4);
	expect_bad(&nibbles);
}

/* ---- portable PDBs ---------------------------------------------------------------- */

enum { PDB_BYTES = 512, TABLES = 0x80, BLOBS = 0xc0, PDB = 0x60 };

struct pdb_bytes {
	uint8_t data[PDB_BYTES];
	uint32_t len;
};

static const uint8_t blobs[] = {
	0, /* 0: empty */
	4,
	'a',
	'.',
	'c',
	's', /* 1 */
	3,
	's',
	'r',
	'c', /* 6 */
	3,
	'/',
	6,
	1, /* 10: src/a.cs */
	2,
	'/',
	1, /* 14: a.cs */
	/* 17: locals; IL 0, 1 column, line 10, column 3; IL 4 hidden; IL 6, 1 line more; IL 8, in
	   a.cs */
	21,
	0,
	0,
	0,
	1,
	10,
	3,
	4,
	0,
	0,
	2,
	0,
	1,
	2,
	4,
	0,
	2,
	2,
	0,
	1,
	0,
	0,
};

static void put(struct pdb_bytes *b, size_t at, const void *data, size_t len)
{
	memcpy(b->data + at, data, len);
}

/* Two documents, and three methods of which the second one has lines. */
static void make_pdb(struct pdb_bytes *b)
{
	static const struct {
		uint32_t off, len;
		char name[8];
	} streams[] = { { PDB, 32, "#Pdb" },
			{ TABLES, 64, "#~" },
			{ BLOBS, sizeof(blobs), "#Blob" } };
	static const uint16_t rows[] = { 10, 0, 0, 0, 14, 0, 0, 0, 0, 0, 1, 17, 0, 0 };
	static const uint32_t n_rows[] = { 2, 3 };
	size_t at = 32;

	*b = (struct pdb_bytes){ .len = PDB_BYTES };
	put(b, 0, "BSJB\1\0\1\0\0\0\0\0\14\0\0\0PDB v1.0\0\0\0\0\0\0\3\0", 32);
	for (size_t i = 0; i < 3; i++) {
		size_t name_bytes = (strlen(streams[i].name) / 4 + 1) * 4;

		put(b, at, &streams[i], 8 + name_bytes);
		at += 8 + name_bytes;
	}
	put(b, PDB, "0123456789abcdef\1\2\3\4", 20);
	put(b, TABLES + 8, &(uint64_t){ UINT64_C(3) << 0x30 }, 8);
	put(b, TABLES + 24, n_rows, sizeof(n_rows));
	put(b, TABLES + 32, rows, sizeof(rows));
	put(b, BLOBS, blobs, sizeof(blobs));
}

static int read_pdb(void *ctx, uint64_t addr, void *dst, size_t len)
{
	const struct pdb_bytes *b = ctx;

	if (addr > b->len || len > b->len - addr)
		return -1;
	memcpy(dst, b->data + addr, len);
	return 0;
}

static int lines_of(struct pdb_bytes *b, uint32_t rid, struct lang_function *out)
{
	const struct lang_process p = { .read = read_pdb, .ctx = b };
	struct dotnet_pdb pdb;
	int r = dotnet_pdb_open(&p, b->len, &pdb);

	memset(out, 0, sizeof(*out));
	return r < 0 ? r : dotnet_pdb_lines(&pdb, rid, out);
}

static void expect_lines(const struct lang_function *f)
{
	assert_string_equal(f->file, "src/a.cs");
	assert_int_equal(f->first_line, 10);
	assert_int_equal(dotnet_line(f, 0), 0); /* unknown IL */
	assert_int_equal(dotnet_line(f, 1 + 0), 10);
	assert_int_equal(dotnet_column(f, 1 + 0), 3);
	assert_int_equal(dotnet_line(f, 1 + 5), 10); /* hidden code belongs to what precedes it */
	assert_int_equal(dotnet_line(f, 1 + 6), 11);
	assert_int_equal(dotnet_column(f, 1 + 7), 5);
	assert_int_equal(dotnet_line(f, 1 + 8), 0); /* another document */
	assert_int_equal(dotnet_address(f, 1 + 8), 0);
}

static void reads_lines_of_a_pdb(void **state)
{
	struct lang_function f;
	struct pdb_bytes b;

	(void)state;
	make_pdb(&b);
	assert_int_equal(lines_of(&b, 2, &f), 0);
	expect_lines(&f);
	free(f.file);
	free(f.lines);
	assert_int_equal(lines_of(&b, 1, &f), -ENOENT);
	assert_int_equal(lines_of(&b, 4, &f), -ENOENT);
	assert_int_equal(dotnet_address(&(struct lang_function){ 0 }, 1 + 8), 8);
}

static void refuses_a_damaged_pdb(void **state)
{
	struct lang_function f;
	struct pdb_bytes b;

	(void)state;
	make_pdb(&b);
	b.data[0] = 'X';
	assert_int_equal(lines_of(&b, 2, &f), -EBADMSG);
	make_pdb(&b);
	b.data[TABLES + 8] = 1; /* tables of an assembly */
	assert_int_equal(lines_of(&b, 2, &f), -EBADMSG);
	make_pdb(&b);
	b.data[BLOBS + 17] = 19; /* a point that is cut */
	assert_int_equal(lines_of(&b, 2, &f), -EBADMSG);
	make_pdb(&b);
	b.data[TABLES + 32 + 20] = 3; /* a document that is not there */
	assert_int_equal(lines_of(&b, 2, &f), -EBADMSG);
}

/* ---- embedded PDBs ---------------------------------------------------------------- */

enum { DIRECTORY_AT = DOTNET_MEMORY_AT + DOTNET_IMAGE_RVA + 0xc00, ENTRY_BYTES = 28 };

static void put_entry(uint32_t i, uint32_t stamp, uint32_t type, uint32_t size, uint32_t at)
{
	const uint32_t entry[] = { 0, stamp, 0, type, size, at - DOTNET_MEMORY_AT, 0 };

	dotnet_memory_put(&m, DIRECTORY_AT + i * ENTRY_BYTES, entry, sizeof(entry));
}

/* Embeds a PDB in the assembly, which refers to it by an id with the stamp @stamp. */
static void embed(const struct pdb_bytes *b, uint32_t stamp)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
	const uint32_t directory[] = { DIRECTORY_AT - DOTNET_MEMORY_AT, 2 * ENTRY_BYTES };
	const uint32_t head[] = { 0x4244504d, b->len }, at = DIRECTORY_AT + 0x80;
	uint8_t data[PDB_BYTES];
	size_t len = libdeflate_deflate_compress(c, b->data, b->len, data, sizeof(data));

	assert_true(len > 0);
	libdeflate_free_compressor(c);
	dotnet_memory_put(&m, DOTNET_MEMORY_AT + 0x80 + 24 + 112 + 8 * 6, directory, 8);
	put_entry(0, stamp, 2, 32, DIRECTORY_AT + 0x40);
	put_entry(1, 0, 17, (uint32_t)(sizeof(head) + len), at);
	dotnet_memory_put(&m, DIRECTORY_AT + 0x40, "RSDS0123456789abcdef", 20);
	dotnet_memory_put(&m, at, head, sizeof(head));
	dotnet_memory_put(&m, at + sizeof(head), data, len);
}

/* Reads the method with number 2 at the IL of native offset 9. */
static int read_method(struct lang_function *f, struct lang_call *call)
{
	const uint64_t words[] = { VM_FRAME_WORD(DOTNET_METHOD, 1, dotnet_memory_code(1)),
				   VM_PLACE_WORD(9, dotnet_memory_cookie(&m, 1)) };
	struct lang_call calls[LANG_CALLS_MAX];

	memset(f, 0, sizeof(*f));
	assert_int_equal(dotnet_expand(&m.tables, 1, &m.process, words, calls), 1);
	*call = calls[0];
	return dotnet_read(&m.tables, 1, &m.process, call->addr, call->cookie, f);
}

static void free_function(struct lang_function *f)
{
	free(f->name);
	free(f->file);
	free(f->lines);
}

static void reads_an_embedded_pdb(void **state)
{
	struct lang_function f;
	struct lang_call call;
	struct pdb_bytes b;

	(void)state;
	make_pdb(&b);
	dotnet_memory_init(&m, false);
	embed(&b, 0x04030201);
	assert_int_equal(lang_memo_new(&m.process.memo), 0);
	for (int i = 0; i < 2; i++) { /* the second time from the memo */
		assert_int_equal(read_method(&f, &call), 0);
		assert_int_equal(call.place, 1 + 12);
		expect_lines(&f);
		free_function(&f);
	}
	lang_memo_free(m.process.memo);
}

static void ignores_a_pdb_of_another_assembly(void **state)
{
	struct lang_function f;
	struct lang_call call;
	struct pdb_bytes b;

	(void)state;
	make_pdb(&b);
	dotnet_memory_init(&m, false);
	embed(&b, 7);
	assert_int_equal(read_method(&f, &call), 0);
	assert_string_equal(f.name, "Shop.Cart.Run.<lambda>");
	assert_string_equal(f.file, "");
	assert_int_equal(dotnet_line(&f, call.place), 0);
	assert_int_equal(dotnet_address(&f, call.place), 12);
	free_function(&f);
}

static void ignores_an_embedded_pdb_that_is_damaged(void **state)
{
	struct lang_function f;
	struct lang_call call;
	struct pdb_bytes b;

	(void)state;
	make_pdb(&b);
	dotnet_memory_init(&m, false);
	embed(&b, 0x04030201);
	dotnet_memory_put(&m, DIRECTORY_AT + 0x84, &(uint32_t){ UINT32_MAX }, 4);
	assert_int_equal(read_method(&f, &call), 0);
	assert_int_equal(f.n_lines, 0);
	free_function(&f);
}

int test_dotnet_lines(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps_native_code_to_il),
		cmocka_unit_test(maps_native_code_to_il_in_the_form_of_dotnet_10),
		cmocka_unit_test(skips_what_precedes_the_map),
		cmocka_unit_test(refuses_a_damaged_map),
		cmocka_unit_test(reads_lines_of_a_pdb),
		cmocka_unit_test(refuses_a_damaged_pdb),
		cmocka_unit_test(reads_an_embedded_pdb),
		cmocka_unit_test(ignores_a_pdb_of_another_assembly),
		cmocka_unit_test(ignores_an_embedded_pdb_that_is_damaged),
	};

	return TEST_RUN("test_dotnet_lines", tests, NULL, NULL);
}
