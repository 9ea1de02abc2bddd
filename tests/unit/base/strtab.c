/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strtab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

static void equal_bytes_have_one_id(void **state)
{
	struct strtab *t;
	uint32_t a, b, c;

	assert_int_equal(strtab_new(&t), 0);
	assert_int_equal(strtab_add(t, "", 0, &a), 0);
	assert_int_equal(a, 0);
	assert_int_equal(strtab_add(t, NULL, 0, &a), 0);
	assert_int_equal(a, 0);
	assert_int_equal(strtab_add(t, "abc", 3, &a), 0);
	assert_int_equal(strtab_add(t, "abcd", 3, &b), 0);
	assert_int_equal(strtab_add(t, "a\0c", 3, &c), 0);
	assert_int_equal(a, b);
	assert_int_not_equal(a, c);
	assert_int_equal(strtab_len(t, c), 3);
	assert_string_equal(strtab_get(t, a), "abc");
	strtab_free(t);
}

static void strings_stay_where_they_are(void **state)
{
	enum { BIG = 200000 };
	struct strtab *t;
	const char *first;
	char *big = malloc(BIG);
	char s[32];
	uint32_t id, first_id;

	memset(big, 'b', BIG);
	assert_int_equal(strtab_new(&t), 0);
	assert_int_equal(strtab_add(t, "first", 5, &first_id), 0);
	first = strtab_get(t, first_id);
	assert_int_equal(strtab_add(t, big, BIG, &id), 0);
	for (int i = 0; i < 20000; i++) {
		int n = snprintf(s, sizeof(s), "name%d", i);

		assert_int_equal(strtab_add(t, s, (size_t)n, &id), 0);
	}
	assert_ptr_equal(strtab_get(t, first_id), first);
	assert_string_equal(first, "first");
	assert_int_equal(strtab_count(t), 20003);
	assert_true(strtab_bytes(t) > BIG);
	strtab_free(t);
	free(big);
}

TEST_GROUP(test_strtab, TEST(equal_bytes_have_one_id), TEST(strings_stay_where_they_are))
