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

TEST_GROUP(test_scrape_types, TEST(a_list_has_the_bits_of_its_types),
	   TEST(what_is_no_list_of_types_is_an_error))
