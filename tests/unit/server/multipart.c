/* SPDX-License-Identifier: Apache-2.0 */
/* Forms as clients send them, and malformed ones. */
#include "server/multipart.h"

#include <errno.h>
#include <string.h>

#include "tests/test.h"

static const char form[] = "preamble\r\n--XX\r\n"
			   "content-disposition: form-data; filename=\"name\";name=\"a\"\r\n\r\n"
			   "one\r\n--X\r\n--XX\r\n"
			   "Content-Disposition: form-data; name=\"b\"; filename=\"x\"\r\n"
			   "Content-Type: text/plain\r\n\r\n"
			   "\r\n--XX--\r\n";
static const char type[] = "multipart/form-data; charset=x; boundary=\"XX\"";

static void finds_parts_by_name(void **state)
{
	struct multipart_part part;

	assert_int_equal(multipart_find(type, form, strlen(form), "a", &part), 0);
	assert_int_equal(part.len, 8);
	assert_memory_equal(part.data, "one\r\n--X", 8);
	assert_int_equal(multipart_find(type, form, strlen(form), "b", &part), 0);
	assert_int_equal(part.len, 0);
	assert_int_equal(multipart_find(type, form, strlen(form), "name", &part), -ENOENT);
}

static void refuses_a_truncated_form(void **state)
{
	struct multipart_part part;

	for (size_t len = 0; len + 6 < strlen(form); len++)
		assert_int_not_equal(multipart_find(type, form, len, "b", &part), 0);
}

static void refuses_a_type_without_a_boundary(void **state)
{
	static const char *const types[] = { "multipart/form-data", "text/plain; boundary=XX",
					     "multipart/form-data; boundary=",
					     "multipart/form-data; boundary=YY" };
	struct multipart_part part;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		assert_int_equal(multipart_find(types[i], form, strlen(form), "a", &part),
				 -EBADMSG);
}

TEST_GROUP(test_multipart, TEST(finds_parts_by_name), TEST(refuses_a_truncated_form),
	   TEST(refuses_a_type_without_a_boundary))
