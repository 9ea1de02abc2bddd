/* SPDX-License-Identifier: Apache-2.0 */
#include "server/response.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "tests/test.h"

/* One such text would make clients refuse all others of the response. */
static void texts_are_valid_utf8_in_both_encodings(void **state)
{
	static const char proto[] = "\x0a\x04"
				    "a\xef\xbf\xbd"
				    "\x12\x04\xef\xbf\xbdz"
				    "\x12\x03\xc3\xa4\n";
	static const char text[] =
		"{\"s\":\"a\xef\xbf\xbd\",\"l\":[\"\xef\xbf\xbdz\",\"\xc3\xa4\\n\"]}";

	for (int is_json = 0; is_json < 2; is_json++) {
		_cleanup_(buf_fini) struct buf out = { 0 };
		struct response resp = response_to(&out, is_json);
		size_t mark = response_begin(&resp, 0, NULL), len;

		response_put_string(&resp, 1, "s", "a\xff");
		response_begin_list(&resp, "l");
		response_put_item(&resp, 2, "\xc0z");
		response_put_item(&resp, 2, "\xc3\xa4\n");
		response_end_list(&resp);
		response_end(&resp, mark);
		len = is_json ? sizeof(text) - 1 : sizeof(proto) - 1;
		assert_int_equal(out.len, len);
		assert_memory_equal(out.data, is_json ? text : proto, len);
	}
}

TEST_GROUP(test_response, TEST(texts_are_valid_utf8_in_both_encodings))
