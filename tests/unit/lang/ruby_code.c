/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/lang/readers.c tests names; this file tests lines, methods in C and their limits. */
#include <errno.h>

#include "lang/ruby/ruby.h"
#include "memory.h"
#include "tests/test.h"

enum {
	VM = 1,
	SMALL = 54, /* positions in the first part of an index */
	POSITIONS = 2000,
	/* offsets in an iseq's body, as of 3.3 */
	SIZE = 4,
	CODE = 8,
	PATH = 64,
	LABEL = 80,
	FIRST_LINE = 88,
	LINES = 112,
	LINES_COUNT = 16,
	LINES_INDEX = 24,
};

/* ---- the index from positions to lines ------------------------------------------------- */

/* Builds the index of a set of positions, in which an entry of the line table begins. */
static size_t put_index(const bool *begins, uint8_t *out)
{
	size_t n_blocks = (POSITIONS - SMALL) / 512 + 1;
	uint32_t n = 0;

	memset(out, 0, 48 + n_blocks * 80);
	for (uint32_t i = 0; i < SMALL; i++) {
		uint64_t *word = (uint64_t *)(void *)(out + 8 * (i / 9));

		n += begins[i];
		*word |= (uint64_t)n << (i % 9 * 7);
	}
	for (size_t b = 0; b < n_blocks; b++) {
		uint8_t *block = out + 48 + b * 80;
		uint64_t *bits = (uint64_t *)(void *)(block + 16), ranks = 0;
		uint32_t before = n;

		memcpy(block, &n, sizeof(n));
		for (uint32_t i = 0; i < 512; i++) {
			uint32_t pos = SMALL + (uint32_t)b * 512 + i;

			if (i && i % 64 == 0)
				ranks |= (uint64_t)(n - before) << ((i / 64 - 1) * 9);
			if (pos < POSITIONS && begins[pos]) {
				bits[i / 64] |= 1ULL << (i % 64);
				n++;
			}
		}
		memcpy(block + 8, &ranks, sizeof(ranks));
	}
	return 48 + n_blocks * 80;
}

static void the_rank_of_a_position_counts_the_entries_before_it(void **state)
{
	srandom(17);
	for (int round = 0; round < 50; round++) {
		_Alignas(8) uint8_t index[48 + 5 * 80];
		bool begins[POSITIONS];
		uint32_t n = 0;
		size_t len;

		/* The first part has seven bits for each number. */
		for (size_t i = 0; i < POSITIONS; i++)
			begins[i] = !i || random() % (2 + round % 5) == 0;
		len = put_index(begins, index);
		assert_true(len <= sizeof(index));
		for (uint32_t pos = 0; pos < POSITIONS; pos++) {
			n += begins[pos];
			assert_int_equal(ruby_index_rank(index, len, pos), n);
		}
	}
}

static void a_short_index_has_no_ranks(void **state)
{
	uint8_t index[48 + 80];

	memset(index, 1, sizeof(index));
	for (size_t len = 0; len <= sizeof(index); len++) {
		uint8_t *exact = malloc(len ? len : 1);

		assert_non_null(exact);
		memcpy(exact, index, len);
		assert_int_equal(ruby_index_rank(exact, len, 0) > 0, len >= 48);
		assert_int_equal(ruby_index_rank(exact, len, SMALL) > 0, len >= 48 + 80);
		assert_int_equal(ruby_index_rank(exact, len, SMALL + 512), 0);
		assert_int_equal(ruby_index_rank(exact, len, UINT32_MAX), 0);
		free(exact);
	}
}

/* ---- functions ------------------------------------------------------------------------- */

static struct memory m;
static struct ruby_vm ruby[2];
static struct lang_function f;

static void begin(void)
{
	memory_init(&m, 11);
	m.tables.ruby = ruby;
	ruby[VM] = (struct ruby_vm){ .version = 303 };
}

static int release(void **state)
{
	free(f.name);
	free(f.file);
	free(f.lines);
	f = (struct lang_function){ 0 };
	return 0;
}

static int read_at(uint64_t addr, uint32_t cookie)
{
	release(NULL);
	return ruby_read(&m.tables, VM, &m.process, addr, cookie, &f);
}

static uint64_t object(uint64_t flags, size_t len)
{
	uint64_t at = memory_add(&m, NULL, len);

	memory_put(&m, at, flags);
	return at;
}

static uint64_t string(const char *text)
{
	uint64_t at = object(RUBY_T_STRING, 24 + strlen(text) + 1);

	memory_put(&m, at + 16, strlen(text));
	memcpy(memory_at(&m, at + 24), text, strlen(text));
	return at;
}

static void put32(uint64_t at, uint32_t v)
{
	memcpy(memory_at(&m, at), &v, sizeof(v));
}

/* Adds an iseq of @n_words with @n_entries lines: 100, 101... of 12 bytes each. */
static uint64_t iseq(uint32_t n_words, uint32_t n_entries, uint64_t *out_body)
{
	uint64_t at = object(RUBY_T_IMEMO | RUBY_IMEMO_ISEQ << 12, 32);
	uint64_t body = memory_add(&m, NULL, 200), entries = memory_add(&m, NULL, 12 * n_entries);

	memory_put(&m, at + 16, body);
	put32(body + SIZE, n_words);
	memory_put(&m, body + CODE, memory_add(&m, NULL, 8 * n_words));
	memory_put(&m, body + PATH, string("/srv/app.rb"));
	memory_put(&m, body + LABEL, string("act"));
	put32(body + FIRST_LINE, 30);
	for (uint32_t i = 0; i < n_entries; i++)
		put32(entries + 12 * i, 100 + i);
	memory_put(&m, body + LINES, entries);
	put32(body + LINES + LINES_COUNT, n_entries);
	*out_body = body;
	return at;
}

static uint32_t line_at(uint32_t pos)
{
	/* The place is that of the next instruction. */
	return ruby_line(&f, (f.bytecode + pos + 1) & ((1 << RUBY_PLACE_BITS) - 1));
}

static void a_single_entry_needs_no_index(void **state)
{
	uint64_t body, at;

	begin();
	at = iseq(20, 1, &body);
	assert_int_equal(read_at(at, 0), 0);
	assert_int_equal(line_at(0), 100);
	assert_int_equal(line_at(19), 100);
	assert_int_equal(line_at(20), 30); /* after the code: the first line */
	assert_int_equal(f.first_line, 30);
}

static void lines_are_found_through_the_index(void **state)
{
	_Alignas(8) uint8_t index[48 + 5 * 80];
	bool begins[POSITIONS] = { [0] = true, [3] = true, [60] = true, [900] = true };
	uint64_t body, at;
	size_t len;

	begin();
	at = iseq(POSITIONS, 4, &body);
	len = put_index(begins, index);
	memory_put(&m, body + LINES + LINES_INDEX, memory_add(&m, index, len));
	assert_int_equal(read_at(at, 0), 0);
	assert_int_equal(line_at(0), 100);
	assert_int_equal(line_at(2), 100);
	assert_int_equal(line_at(3), 101);
	assert_int_equal(line_at(59), 101);
	assert_int_equal(line_at(60), 102);
	assert_int_equal(line_at(POSITIONS - 1), 103);
}

/* The function then has its first line everywhere. */
static void false_line_tables_are_ignored(void **state)
{
	static const uint32_t counts[] = { 0, (1 << 16) + 1, UINT32_MAX, 2 };
	uint64_t body, at;

	begin();
	at = iseq(20, 1, &body);
	for (size_t i = 0; i < 4; i++) { /* the last one has no index */
		put32(body + LINES + LINES_COUNT, counts[i]);
		assert_int_equal(read_at(at, 0), 0);
		assert_null(f.lines);
		assert_int_equal(line_at(5), 30);
	}
	put32(body + LINES + LINES_COUNT, 1);
	for (size_t i = 0; i < 3; i++) {
		put32(body + SIZE, counts[i]);
		assert_int_equal(read_at(at, 0), 0);
		assert_null(f.lines);
	}
	put32(body + FIRST_LINE, UINT32_MAX); /* -1 */
	assert_int_equal(read_at(at, 0), 0);
	assert_int_equal(f.first_line, 0);
}

/* ---- methods in C ----------------------------------------------------------------------- */

static void methods_in_c_have_a_symbol(void **state)
{
	uint64_t method, def, page, pages, table;

	begin();
	def = memory_add(&m, NULL, 64);
	method = object(RUBY_T_IMEMO | RUBY_IMEMO_METHOD << 12, 48);
	memory_put(&m, method + RUBY_METHOD_DEF, def);
	memory_put(&m, def + 32, 2 << 4);
	assert_int_equal(read_at(method | RUBY_CFUNC, lang_cookie(def)), -ESTALE);
	page = object(RUBY_T_ARRAY | 1 << 13, 16 + 8 * 8);
	memory_put(&m, page + 16 + 8 * 4, string("sleep"));
	pages = object(RUBY_T_ARRAY | 1 << 13, 16 + 8);
	memory_put(&m, pages + 16, page);
	table = memory_add(&m, NULL, 32);
	memory_put(&m, table + RUBY_SYMBOLS_IDS, pages);
	ruby[VM].symbols = table;
	assert_int_equal(read_at(method | RUBY_CFUNC, lang_cookie(def)), 0);
	assert_string_equal(f.name, "sleep");
	assert_string_equal(f.file, "");
	assert_int_equal(read_at(method | RUBY_CFUNC, lang_cookie(def) ^ 2), -ESTALE);
	assert_int_equal(read_at(0x7f0000000000 | RUBY_CFUNC, 1), -ESTALE);
	memory_put(&m, method + RUBY_METHOD_DEF, 0x7f0000000000);
	assert_int_equal(read_at(method | RUBY_CFUNC, lang_cookie(0x7f0000000000)), -ESTALE);
}

#define RUBY_TEST(fn) cmocka_unit_test_teardown(fn, release)

TEST_GROUP(test_ruby_code, TEST(the_rank_of_a_position_counts_the_entries_before_it),
	   TEST(a_short_index_has_no_ranks), RUBY_TEST(a_single_entry_needs_no_index),
	   RUBY_TEST(lines_are_found_through_the_index), RUBY_TEST(false_line_tables_are_ignored),
	   RUBY_TEST(methods_in_c_have_a_symbol))
