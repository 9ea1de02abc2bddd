/* SPDX-License-Identifier: Apache-2.0 */
#include "export/base64.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "tests/test.h"

/* RFC 4648, 10 */
static const struct {
	const char *plain, *coded;
} cases[] = { { "", "" },        { "f", "Zg==" },          { "fo", "Zm8=" },
	      { "foo", "Zm9v" }, { "foobar", "Zm9vYmFy" }, { "\xff\xfe\xfd", "//79" } };

static void writes_and_reads_the_examples_of_the_rfc(void **state)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf coded = { 0 }, plain = { 0 };

		base64_put(&coded, cases[i].plain, strlen(cases[i].plain));
		buf_put_byte(&coded, 0);
		assert_string_equal((char *)coded.data, cases[i].coded);
		assert_int_equal(base64_get(&plain, cases[i].coded, strlen(cases[i].coded)), 0);
		buf_put_byte(&plain, 0);
		assert_string_equal((char *)plain.data, cases[i].plain);
		buf_fini(&coded);
		buf_fini(&plain);
	}
}

static void padding_may_be_missing(void **state)
{
	struct buf plain = { 0 };

	assert_int_equal(base64_get(&plain, "Zm8", 3), 0);
	assert_memory_equal(plain.data, "fo", 2);
	buf_fini(&plain);
}

static void refuses_what_is_none(void **state)
{
	static const char *const bad[] = { "Z", "Zm9vY", "Zm 9", "Zm9*", "=Zg=" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct buf plain = { 0 };

		assert_int_equal(base64_get(&plain, bad[i], strlen(bad[i])), -EBADMSG);
		buf_fini(&plain);
	}
}

TEST_GROUP(test_base64, TEST(writes_and_reads_the_examples_of_the_rfc),
	   TEST(padding_may_be_missing), TEST(refuses_what_is_none))
