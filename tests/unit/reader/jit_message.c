/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/jit_message.h"

#include <errno.h>

#include "tests/test.h"

enum { N_ADDRS = 4 };

static const struct jit_found function = { 3, 7, "name", "file.js", 4, 7 };

/* Returns the result of jit_found_next() for the @len bytes at @data. */
static int next(const uint8_t *data, size_t len, struct jit_found *out)
{
	return jit_found_next(&data, &len, N_ADDRS, out);
}

static void reads_what_was_put(void **state)
{
	struct buf b = { 0 };
	struct jit_found f = { 0 };
	const uint8_t *p;
	size_t len;

	jit_found_put(&b, &function);
	jit_found_put(&b, &function);
	assert_int_equal(b.len, 2 * jit_found_len(&function));
	p = b.data;
	len = b.len;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(jit_found_next(&p, &len, N_ADDRS, &f), 1);
		assert_int_equal(f.index, 3);
		assert_int_equal(f.line, 7);
		assert_int_equal(f.name_len, 4);
		assert_memory_equal(f.name, "name", 4);
		assert_int_equal(f.file_len, 7);
		assert_memory_equal(f.file, "file.js", 7);
	}
	assert_int_equal(jit_found_next(&p, &len, N_ADDRS, &f), 0);
	buf_fini(&b);
}

static void refuses_functions_that_are_not_whole(void **state)
{
	struct buf b = { 0 };
	struct jit_found f;

	jit_found_put(&b, &function);
	for (size_t len = 1; len < b.len; len++)
		assert_int_equal(next(b.data, len, &f), -EBADMSG);
	buf_fini(&b);
}

static void refuses_values_out_of_range(void **state)
{
	static const struct jit_found bad[] = {
		{ N_ADDRS, 0, "a", "", 1, 0 }, /* an address that was not in the request */
		{ 0, 0, "", "file", 0, 4 },    /* no name */
		{ 0, 0, "a\0b", "", 3, 0 },
	};
	char name[5000];
	const struct jit_found too_long = { 0, 0, name, "", sizeof(name), 0 };
	struct jit_found f;

	memset(name, 'a', sizeof(name));
	for (size_t i = 0; i < 4; i++) {
		struct buf b = { 0 };

		jit_found_put(&b, i < 3 ? &bad[i] : &too_long);
		assert_int_equal(next(b.data, b.len, &f), -EBADMSG);
		buf_fini(&b);
	}
}

static void checks_requests(void **state)
{
	struct {
		struct jit_request head;
		uint64_t addrs[2];
	} q = { { JIT_DUMP, 2, 10, 20 }, { 5, 6 } };

	assert_ptr_equal(jit_request_check(&q, sizeof(q)), q.addrs);
	assert_null(jit_request_check(&q, sizeof(q) - 1));
	assert_null(jit_request_check(&q, sizeof(q.head) - 1));
	q.head.n = 3;
	assert_null(jit_request_check(&q, sizeof(q)));
	q.head.n = UINT32_MAX;
	assert_null(jit_request_check(&q, sizeof(q)));
	q.head = (struct jit_request){ 9, 2, 10, 20 };
	assert_null(jit_request_check(&q, sizeof(q)));
	q.head = (struct jit_request){ JIT_DUMP, 2, 30, 20 };
	assert_null(jit_request_check(&q, sizeof(q)));
}

TEST_GROUP(test_jit_message, TEST(reads_what_was_put), TEST(refuses_functions_that_are_not_whole),
	   TEST(refuses_values_out_of_range), TEST(checks_requests))
