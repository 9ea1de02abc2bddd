/* SPDX-License-Identifier: Apache-2.0 */
#include "scrape/scrape_kept.h"

#include "tests/test.h"

static void put(struct scrape_kept *k, const char *url, const char *text, uint64_t round)
{
	struct buf b = { 0 };

	buf_put_str(&b, text);
	assert_int_equal(scrape_kept_put(k, url, &b, 7, round), 0);
	assert_null(b.data);
}

static void the_last_body_of_each_url_is_kept(void **state)
{
	struct scrape_kept k = { 0 };

	put(&k, "a", "one", 1);
	put(&k, "b", "two", 1);
	put(&k, "a", "three", 2);
	assert_int_equal(k.len, 2);
	assert_memory_equal(scrape_kept_find(&k, "a")->body.data, "three", 5);
	assert_int_equal(scrape_kept_find(&k, "a")->arrived_ns, 7);
	assert_null(scrape_kept_find(&k, "c"));
	scrape_kept_fini(&k);
}

static void bodies_that_nobody_uses_are_freed(void **state)
{
	struct scrape_kept k = { 0 };

	put(&k, "a", "one", 1);
	put(&k, "b", "two", 1);
	scrape_kept_use(&k, "a", 2);
	scrape_kept_use(&k, "c", 2);
	scrape_kept_forget(&k, 2);
	assert_non_null(scrape_kept_find(&k, "a"));
	assert_null(scrape_kept_find(&k, "b"));
	scrape_kept_forget(&k, 3);
	assert_int_equal(k.len, 0);
	assert_int_equal(k.bytes, 0);
	scrape_kept_fini(&k);
}

static void their_memory_is_counted(void **state)
{
	struct scrape_kept k = { 0 };

	put(&k, "a", "0123456789", 1);
	assert_true(k.bytes >= 10);
	put(&k, "a", "0", 1);
	assert_int_equal(k.bytes, scrape_kept_find(&k, "a")->body.cap);
	scrape_kept_fini(&k);
	assert_int_equal(k.bytes, 0);
}

TEST_GROUP(test_scrape_kept, TEST(the_last_body_of_each_url_is_kept),
	   TEST(bodies_that_nobody_uses_are_freed), TEST(their_memory_is_counted))
