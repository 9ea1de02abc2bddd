/* SPDX-License-Identifier: Apache-2.0 */
#include "scrape/scrape_types.h"

#include <errno.h>

#include "base/err.h"
#include "tests/test.h"

static void a_list_has_the_bits_of_its_types(void **state)
{
	uint32_t bits;

	assert_int_equal(scrape_types_parse("cpu", &bits, NULL), 0);
	assert_int_equal(bits, 1u << SCRAPE_CPU);
	assert_int_equal(scrape_types_parse("block,cpu,memory", &bits, NULL), 0);
	assert_int_equal(bits, 1u << SCRAPE_CPU | 1u << SCRAPE_MEMORY | 1u << SCRAPE_BLOCK);
}

static void what_is_no_list_of_types_is_an_error(void **state)
{
	static const char *const lists[] = { "", ",", "cpu,", ",cpu", "CPU", "cpu memory", "cp" };

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		struct err err = { 0 };

		assert_int_equal(scrape_types_check(lists[i], &err), -EINVAL);
		assert_non_null(strstr(err.msg, "expected cpu, memory"));
	}
}

static void the_same_values_twice_are_an_error(void **state)
{
	static const char *const lists[] = { "memory,godeltaprof_memory",
					     "godeltaprof_block,cpu,block",
					     "mutex,godeltaprof_mutex" };

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		struct err err = { 0 };

		assert_int_equal(scrape_types_check(lists[i], &err), -EINVAL);
		assert_non_null(strstr(err.msg, "have the same values"));
	}
	assert_int_equal(scrape_types_check("memory,godeltaprof_mutex,block", NULL), 0);
}

/* The table of requests is sized by it. */
static void a_list_has_at_most_as_many_types_as_there_are_names(void **state)
{
	uint32_t n = 0;

	for (int i = 0; i < SCRAPE_TYPE_MAX; i++) {
		bool is_new = true;

		for (int j = 0; j < i; j++)
			is_new = is_new && strcmp(scrape_types[i].name, scrape_types[j].name);
		n += is_new;
	}
	assert_int_equal(n, SCRAPE_TYPES_AT_ONCE);
}

TEST_GROUP(test_scrape_types, TEST(a_list_has_the_bits_of_its_types),
	   TEST(what_is_no_list_of_types_is_an_error), TEST(the_same_values_twice_are_an_error),
	   TEST(a_list_has_at_most_as_many_types_as_there_are_names))
