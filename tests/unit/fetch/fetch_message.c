/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/fetch_message.h"

#include <errno.h>
#include <string.h>

#include "tests/test.h"

static const struct fetch_reply ok = { .status = 404 };

static void replies_have_a_size_a_status_and_text_that_ends(void **state)
{
	struct fetch_reply bad = ok;

	assert_ptr_equal(fetch_check_reply(&ok, sizeof(ok), 0), &ok);
	assert_null(fetch_check_reply(&ok, sizeof(ok) - 1, 0));
	assert_null(fetch_check_reply(&ok, sizeof(ok) + 1, 0));
	memset(bad.why, 'x', sizeof(bad.why));
	assert_null(fetch_check_reply(&bad, sizeof(bad), 0));
	for (int status = -1; status < 1200; status++) {
		bad = (struct fetch_reply){ .status = status };
		assert_int_equal(!fetch_check_reply(&bad, sizeof(bad), 0),
				 status < 100 || status > 999);
	}
}

static void failures_have_no_status(void **state)
{
	const struct fetch_reply failed = { .why = "refused" };

	assert_ptr_equal(fetch_check_reply(&failed, sizeof(failed), -ECONNREFUSED), &failed);
	assert_null(fetch_check_reply(&ok, sizeof(ok), -ECONNREFUSED));
	assert_null(fetch_check_reply(&failed, sizeof(failed), 0));
}

TEST_GROUP(test_fetch_message, TEST(replies_have_a_size_a_status_and_text_that_ends),
	   TEST(failures_have_no_status))
