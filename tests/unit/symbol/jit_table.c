/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/jit_table.h"

#include <errno.h>
#include <stdio.h>

#include "tests/test.h"

static void finds_the_newest_of_overlapping_functions(void **state)
{
	enum { N = 300, SPAN = 1000 };
	struct jit_table *t;
	int newest[SPAN + 100];

	srandom(1);
	memset(newest, 0xff, sizeof(newest));
	assert_int_equal(jit_table_new(&t), 0);
	for (int i = 0; i < N; i++) {
		unsigned int start = 1 + (unsigned int)random() % SPAN;
		unsigned int size = (unsigned int)random() % 90;
		char name[16];
		struct jit_function f;

		snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(jit_table_add(t, start, size, name, strlen(name), 0), 0);
		for (unsigned int a = start; a < start + size; a++)
			newest[a] = i;
		for (unsigned int a = 0; a < SPAN + 100; a++) {
			int r = jit_table_find(t, a, &f);

			assert_int_equal(r, newest[a] < 0 ? -ENOENT : 0);
			if (r == 0)
				assert_int_equal(atoi(f.name), newest[a]);
		}
	}
	jit_table_free(t);
}

static struct jit_table *new_table(void)
{
	struct jit_table *t;

	assert_int_equal(jit_table_new(&t), 0);
	return t;
}

static void check_add(struct jit_table *t, uint64_t start, uint64_t size, const char *name)
{
	assert_int_equal(jit_table_add(t, start, size, name, strlen(name), 0), 0);
}

/* Checks the name at @addr; NULL means that no function covers it. */
static void check(struct jit_table *t, uint64_t addr, const char *want)
{
	struct jit_function f;

	assert_int_equal(jit_table_find(t, addr, &f), want ? 0 : -ENOENT);
	if (want)
		assert_string_equal(f.name, want);
}

static void functions_may_lie_at_both_ends_of_the_address_space(void **state)
{
	struct jit_table *t = new_table();

	check(t, 0, NULL);
	check_add(t, 0, 16, "first");
	check_add(t, UINT64_MAX - 16, 16, "last");
	check(t, 0, "first");
	check(t, 16, NULL);
	check(t, UINT64_MAX - 1, "last");
	check(t, UINT64_MAX, NULL);
	jit_table_free(t);
}

static void empty_and_wrapping_functions_are_ignored(void **state)
{
	struct jit_table *t = new_table();

	check_add(t, 0x1000, 0, "empty");
	check_add(t, UINT64_MAX - 16, 17, "ends at 2^64");
	check_add(t, 0x2000, UINT64_MAX, "wraps");
	check(t, 0x1000, NULL);
	check(t, 0x2000, NULL);
	check(t, UINT64_MAX - 1, NULL);
	jit_table_free(t);
}

static void a_name_is_copied_and_truncated(void **state)
{
	struct jit_table *t = new_table();
	struct jit_function f;
	char name[JIT_NAME_MAX + 100];

	memset(name, 'n', sizeof(name));
	assert_int_equal(jit_table_add(t, 16, 8, name, sizeof(name), 5), 0);
	memset(name, 'x', sizeof(name));
	assert_int_equal(jit_table_find(t, 20, &f), 0);
	assert_int_equal(strlen(f.name), JIT_NAME_MAX);
	assert_int_equal(f.name[JIT_NAME_MAX - 1], 'n');
	assert_int_equal(f.start, 16);
	assert_int_equal(f.size, 8);
	assert_int_equal(f.lines_id, 5);
	jit_table_free(t);
}

static void check_at(struct jit_table *t, uint64_t start, const char *want)
{
	struct jit_function f;

	assert_int_equal(jit_table_at(t, start, &f), want ? 0 : -ENOENT);
	if (want)
		assert_string_equal(f.name, want);
}

static void finds_the_newest_function_that_begins_at_an_address(void **state)
{
	struct jit_table *t = new_table();

	check_at(t, 0x1000, NULL);
	check_add(t, 0x1000, 0x100, "old");
	check_add(t, 0x1000, 0x10, "new");
	check_add(t, 0x2000, 0x100, "other");
	check_at(t, 0x1000, "new");
	check_at(t, 0x1001, NULL);
	check_at(t, 0x2000, "other");
	check_add(t, 0x1000, 0x10, "newest");
	check_at(t, 0x1000, "newest");
	jit_table_clear(t);
	check_at(t, 0x1000, NULL);
	jit_table_free(t);
}

/*
 * Nothing may sort the table for each lookup by start: a jitdump can alternate loads and moves.
 * Sorting it each time would take hours here.
 */
static void additions_and_lookups_by_start_may_alternate(void **state)
{
	enum { N = 1 << 17 };
	struct jit_table *t = new_table();
	struct jit_function f;

	for (uint64_t i = 1; i <= N; i++) {
		check_add(t, i * 16, 16, i % 2 ? "odd" : "even");
		assert_int_equal(jit_table_at(t, i * 16, &f), 0);
		assert_string_equal(f.name, i % 2 ? "odd" : "even");
		assert_int_equal(jit_table_at(t, i * 16 + 1, &f), -ENOENT);
	}
	jit_table_free(t);
}

static void a_cleared_table_is_empty_and_usable(void **state)
{
	struct jit_table *t = new_table();
	size_t empty = jit_table_bytes(t);

	for (uint64_t i = 1; i < 5000; i++)
		check_add(t, i * 16, 16, "f");
	check(t, 1600, "f");
	assert_true(jit_table_bytes(t) > empty + 5000 * 16);
	jit_table_clear(t);
	assert_int_equal(jit_table_bytes(t), empty);
	check(t, 1600, NULL);
	check_add(t, 1600, 1, "g");
	check(t, 1600, "g");
	jit_table_free(t);
}

static void functions_over_the_limit_are_refused(void **state)
{
	struct jit_table *t = new_table();

	for (uint64_t i = 1; i <= JIT_FUNCTIONS_MAX; i++)
		check_add(t, i * 16, 16, "f");
	assert_int_equal(jit_table_add(t, 8, 4, "g", 1, 0), -E2BIG);
	check(t, 16, "f");
	check(t, (uint64_t)JIT_FUNCTIONS_MAX * 16 + 15, "f");
	check(t, 8, NULL);
	jit_table_free(t);
}

static void names_over_the_limit_are_refused(void **state)
{
	struct jit_table *t = new_table();
	char name[JIT_NAME_MAX];
	uint64_t n = 0;
	int r = 0;

	memset(name, 'n', sizeof(name));
	for (; r == 0 && n <= JIT_NAMES_MAX / JIT_NAME_MAX; n++) {
		memcpy(name, &n, sizeof(n));
		r = jit_table_add(t, 16 + n * 16, 16, name, sizeof(name), 0);
	}
	assert_int_equal(r, -E2BIG);
	assert_true(n > JIT_NAMES_MAX / JIT_NAME_MAX / 2);
	assert_true(jit_table_bytes(t) < (size_t)JIT_NAMES_MAX * 2);
	jit_table_free(t);
}

TEST_GROUP(test_jit_table, TEST(finds_the_newest_of_overlapping_functions),
	   TEST(functions_may_lie_at_both_ends_of_the_address_space),
	   TEST(empty_and_wrapping_functions_are_ignored), TEST(a_name_is_copied_and_truncated),
	   TEST(finds_the_newest_function_that_begins_at_an_address),
	   TEST(additions_and_lookups_by_start_may_alternate),
	   TEST(a_cleared_table_is_empty_and_usable), TEST(functions_over_the_limit_are_refused),
	   TEST(names_over_the_limit_are_refused))
