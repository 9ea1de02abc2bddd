/* SPDX-License-Identifier: Apache-2.0 */
#include "server/symbolized_files.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/test.h"

#define KEEP_MS (SYMBOLIZED_FILES_KEEP_S * 1000LL)

static struct symbolized_file file_number(uint32_t number, enum search_state state, int64_t now_ms)
{
	struct symbolized_file f = {
		.state = state, .file = number, .searched_ms = now_ms, .used_ms = now_ms
	};

	f.id.len = sizeof(number);
	memcpy(f.id.bytes, &number, sizeof(number));
	return f;
}

/* Adds the file with a number. Returns the number of the one that made room, or -1 for none. */
static int64_t put(struct symbolized_files *t, uint32_t number, enum search_state state,
		   int64_t now_ms)
{
	struct symbolized_file f = file_number(number, state, now_ms), evicted;
	bool has_evicted;

	assert_int_equal(symbolized_files_put(t, &f, now_ms, &evicted, &has_evicted), 0);
	return has_evicted ? (int64_t)evicted.file : -1;
}

static bool should_search(struct symbolized_files *t, uint32_t number, int64_t now_ms)
{
	struct symbolized_file f = file_number(number, MISSING, now_ms);

	return symbolized_files_should_search(t, &f.id, now_ms);
}

static void a_missing_file_is_searched_again_after_some_time(void **state)
{
	_cleanup_(symbolized_files_fini) struct symbolized_files t = { 0 };

	assert_true(should_search(&t, 1, 0));
	put(&t, 1, SEARCHING, 0);
	assert_false(should_search(&t, 1, 2 * KEEP_MS));
	assert_int_equal(symbolized_files_next_search(&t)->file, 1);
	put(&t, 1, MISSING, KEEP_MS);
	assert_null(symbolized_files_next_search(&t));
	assert_false(should_search(&t, 1, 2 * KEEP_MS));
	assert_true(should_search(&t, 1, 2 * KEEP_MS + 1));
	put(&t, 1, FOUND, 2 * KEEP_MS);
	assert_false(should_search(&t, 1, 9 * KEEP_MS));
	assert_int_equal(t.len, 1);
}

/* Fills the table with MISSING files of time 0, but for 0, which was FOUND, and 1, SEARCHING. */
static void fill(struct symbolized_files *t)
{
	for (uint32_t i = 0; i < SYMBOLIZED_FILES_MAX; i++)
		assert_int_equal(put(t, i, i == 0 ? FOUND : i == 1 ? SEARCHING : MISSING, 0), -1);
}

static void a_full_table_drops_what_was_unused_for_longest(void **state)
{
	_cleanup_(symbolized_files_fini) struct symbolized_files t = { 0 };
	struct symbolized_file f = file_number(9999, FOUND, KEEP_MS), evicted;
	bool has_evicted;

	fill(&t);
	assert_false(should_search(&t, 9999, KEEP_MS));
	assert_int_equal(symbolized_files_put(&t, &f, KEEP_MS, &evicted, &has_evicted), -ENOSPC);
	assert_false(has_evicted);

	symbolized_files_find(&t, &t.data[2].id)->used_ms = 5;
	assert_true(should_search(&t, 9999, KEEP_MS + 1));
	assert_int_equal(put(&t, 9999, FOUND, KEEP_MS + 1), 0);
	for (uint32_t i = 3; i < SYMBOLIZED_FILES_MAX; i++)
		assert_int_equal(put(&t, 10000 + i, FOUND, KEEP_MS + 1), i);
	assert_int_equal(put(&t, 20000, FOUND, KEEP_MS + 6), 2);
	assert_false(should_search(&t, 20001, KEEP_MS + 6));
	assert_int_equal(symbolized_files_next_search(&t)->file, 1);
	assert_int_equal(t.len, SYMBOLIZED_FILES_MAX);
}

TEST_GROUP(test_symbolized_files, TEST(a_missing_file_is_searched_again_after_some_time),
	   TEST(a_full_table_drops_what_was_unused_for_longest))
