/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/memo.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

int test_memo(void);

static void put(struct lang_memo *m, uint64_t addr, size_t len)
{
	struct lang_memo_key key = { .addr = addr };
	char *data = malloc(len);

	assert_non_null(data);
	memset(data, (int)addr, len);
	lang_memo_put(m, &key, data, len);
}

static bool has(struct lang_memo *m, uint64_t addr, size_t expected)
{
	struct lang_memo_key key = { .addr = addr };
	size_t len = 0;
	const char *data = lang_memo_get(m, &key, &len);

	if (data) {
		assert_int_equal(len, expected);
		assert_int_equal(data[len - 1], (char)addr);
	}
	return data;
}

static void finds_an_entry_by_its_whole_key(void **state)
{
	_cleanup_(lang_memo_freep) struct lang_memo *m = NULL;
	struct lang_memo_key key = { .addr = 7, .what = 1 };
	size_t len;

	(void)state;
	assert_int_equal(lang_memo_new(&m), 0);
	put(m, 7, 10);
	assert_true(has(m, 7, 10));
	assert_false(has(m, 8, 10));
	assert_null(lang_memo_get(m, &key, &len));
}

static void evicts_the_least_recently_used_entry(void **state)
{
	_cleanup_(lang_memo_freep) struct lang_memo *m = NULL;

	(void)state;
	assert_int_equal(lang_memo_new(&m), 0);
	for (uint64_t i = 1; i <= 100; i++) {
		put(m, i, 5);
		assert_true(has(m, 1, 5));
	}
	assert_false(has(m, 2, 5));
	assert_true(has(m, 100, 5));
	/* large data evicts others as well */
	put(m, 200, LANG_MEMO_BYTES - 5);
	assert_true(has(m, 200, LANG_MEMO_BYTES - 5));
	assert_false(has(m, 1, 5));
	assert_true(lang_memo_bytes(m) < LANG_MEMO_BYTES + 65536);
}

static void rejects_data_that_is_too_large(void **state)
{
	_cleanup_(lang_memo_freep) struct lang_memo *m = NULL;

	(void)state;
	assert_int_equal(lang_memo_new(&m), 0);
	put(m, 1, LANG_MEMO_BYTES + 1);
	assert_false(has(m, 1, 0));
	put(NULL, 1, 5);
	assert_false(has(NULL, 1, 0));
}

int test_memo(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_an_entry_by_its_whole_key),
		cmocka_unit_test(evicts_the_least_recently_used_entry),
		cmocka_unit_test(rejects_data_that_is_too_large),
	};

	return TEST_RUN("test_memo", tests, NULL, NULL);
}
