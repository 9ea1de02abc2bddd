/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/table_message.h"

#include "tests/test.h"

static void accepts_names_of_files_only(void **state)
{
	struct table_need need = { .attempt = 2, .link = "program.debug" };

	assert_ptr_equal(table_need_check(&need, sizeof(need)), &need);
	assert_null(table_need_check(&need, sizeof(need) - 1));
	memcpy(need.link, "../shadow", sizeof("../shadow"));
	assert_null(table_need_check(&need, sizeof(need)));
	memset(need.link, 'a', sizeof(need.link));
	assert_null(table_need_check(&need, sizeof(need)));
	need.link[0] = '\0';
	assert_ptr_equal(table_need_check(&need, sizeof(need)), &need);
}

TEST_GROUP(test_table_message, TEST(accepts_names_of_files_only))
