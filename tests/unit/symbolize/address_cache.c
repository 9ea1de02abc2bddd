/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/address_cache.h"

#include <stdio.h>
#include <string.h>

#include "tests/test.h"

static void returns_the_stored_entry(void **state)
{
	const struct symbol_frame in[] = { { .name = "inner", .file = "a.c", .line = 3 },
					   { .name = "outer", .system_name = "_outer" } };
	struct address_cache_place place = { 42, 1 }, other = { 42, 2 };
	const struct symbol_frame *out;
	struct address_cache *a;
	size_t n;

	assert_int_equal(address_cache_new(&a, 0), 0);
	assert_false(address_cache_get(a, &place, &out, &n));
	assert_int_equal(address_cache_put(a, &place, in, 2), 0);
	assert_false(address_cache_get(a, &other, &out, &n));
	assert_int_equal(address_cache_put(a, &other, NULL, 0), 0);
	assert_true(address_cache_get(a, &place, &out, &n));
	assert_int_equal(n, 2);
	assert_string_equal(out[0].name, "inner");
	assert_string_equal(out[0].system_name, "inner");
	assert_string_equal(out[0].file, "a.c");
	assert_int_equal(out[0].line, 3);
	assert_string_equal(out[1].system_name, "_outer");
	assert_true(address_cache_get(a, &other, &out, &n));
	assert_int_equal(n, 0);
	address_cache_clear(a);
	assert_false(address_cache_get(a, &place, &out, &n));
	address_cache_free(a);
}

static void respects_its_limit_and_retains_recently_used_entries(void **state)
{
	enum { LIMIT = 1 << 20, N = 20000 };
	const struct symbol_frame *out;
	struct address_cache_place often = { 1, 7 };
	struct address_cache *a;
	size_t n, most = 0;

	assert_int_equal(address_cache_new(&a, LIMIT), 0);
	assert_int_equal(address_cache_put(a, &often, &(struct symbol_frame){ .name = "often" }, 1),
			 0);
	for (uint64_t i = 2; i < N; i++) {
		char name[100];
		struct symbol_frame f = { .name = name, .file = "file.c" };

		snprintf(name, sizeof(name), "%064llu", (unsigned long long)i);
		assert_int_equal(address_cache_put(a, &(struct address_cache_place){ i, 7 }, &f, 1),
				 0);
		assert_true(address_cache_get(a, &often, &out, &n));
		assert_string_equal(out[0].name, "often");
		if (address_cache_bytes(a) > most)
			most = address_cache_bytes(a);
	}
	assert_false(address_cache_get(a, &(struct address_cache_place){ 2, 7 }, &out, &n));
	assert_true(address_cache_get(a, &(struct address_cache_place){ N - 1, 7 }, &out, &n));
	assert_true(most <= 2 * LIMIT);
	address_cache_free(a);
}

static void ageing_drops_what_was_not_used_since_the_last_time(void **state)
{
	const struct address_cache_place used = { 1, 7 }, unused = { 2, 7 };
	const struct symbol_frame f = { .name = "f" };
	const struct symbol_frame *out;
	struct address_cache *a;
	size_t n;

	assert_int_equal(address_cache_new(&a, 0), 0);
	assert_int_equal(address_cache_put(a, &used, &f, 1), 0);
	assert_int_equal(address_cache_put(a, &unused, &f, 1), 0);
	address_cache_age(a);
	assert_true(address_cache_get(a, &used, &out, &n));
	address_cache_age(a);
	assert_true(address_cache_get(a, &used, &out, &n));
	assert_string_equal(out[0].name, "f");
	assert_false(address_cache_get(a, &unused, &out, &n));
	address_cache_free(a);
}

TEST_GROUP(test_address_cache, TEST(returns_the_stored_entry),
	   TEST(respects_its_limit_and_retains_recently_used_entries),
	   TEST(ageing_drops_what_was_not_used_since_the_last_time))
