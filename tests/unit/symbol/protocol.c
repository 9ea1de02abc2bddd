/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/protocol.h"

#include <errno.h>
#include <string.h>

#include "tests/test.h"

static const struct protocol_frame two[] = {
	{ "inner", "_Z5innerv", "/a/b.c", 7, 5, 4 },
	{ "outer", "", "", 0, 0, 0 },
};

static void decodes_responses_as_encoded(void **state)
{
	struct protocol_frame got[PROTOCOL_FRAMES_MAX];
	struct protocol_msg m;
	struct buf b = { 0 };
	uint32_t index;

	protocol_put_response_header(&b, 9);
	protocol_put_response(&b, 3, two, 2);
	protocol_put_response(&b, 5, two, 1);
	assert_int_equal(protocol_parse(&m, b.data, b.len), 0);
	assert_int_equal(m.type, PROTOCOL_RESPONSE);
	assert_int_equal(m.seq, 9);
	assert_int_equal(protocol_next_response(&m, &index, got), 2);
	assert_int_equal(index, 3);
	assert_string_equal(got[0].linkage, "_Z5innerv");
	assert_string_equal(got[0].file, "/a/b.c");
	assert_int_equal(got[0].line, 7);
	assert_int_equal(got[0].start_line, 5);
	assert_string_equal(got[1].name, "outer");
	assert_int_equal(protocol_next_response(&m, &index, got), 1);
	assert_int_equal(protocol_next_response(&m, &index, got), 0);
	buf_fini(&b);
}

static void decodes_requests_as_encoded(void **state)
{
	const uint64_t addrs[] = { 1, 1ULL << 40 };
	const struct protocol_need need = { PROTOCOL_NEED_ALT, "n", "d", (const uint8_t *)"\1\2\3",
					    3 };
	struct protocol_msg m;
	struct buf b = { 0 };

	protocol_put_request(&b, 1, 77, addrs, 2);
	assert_int_equal(protocol_parse(&m, b.data, b.len), 0);
	assert_int_equal(m.key, 77);
	assert_int_equal(m.n_addrs, 2);
	assert_true(protocol_addr(&m, 1) == 1ULL << 40);
	b.len = 0;
	protocol_put_need(&b, 1, &need);
	assert_int_equal(protocol_parse(&m, b.data, b.len), 0);
	assert_string_equal(m.need.dir, "d");
	assert_int_equal(m.need.id_len, 3);
	assert_memory_equal(m.need.id, "\1\2\3", 3);
	b.len = 0;
	protocol_put_result(&b, PROTOCOL_DONE, 1, -ENOMEM);
	assert_int_equal(protocol_parse(&m, b.data, b.len), 0);
	assert_int_equal(m.result, -ENOMEM);
	buf_fini(&b);
}

/* Truncated and overwritten packets are refused or read within bounds, which ASan verifies. */
static void reads_damaged_packets_within_bounds(void **state)
{
	struct protocol_frame got[PROTOCOL_FRAMES_MAX];
	struct buf b = { 0 };

	protocol_put_response_header(&b, 9);
	protocol_put_response(&b, 3, two, 2);
	for (size_t len = 0; len < b.len; len++) {
		struct protocol_msg m;
		uint32_t index;
		int r = protocol_parse(&m, b.data, len);

		if (len < 8)
			assert_int_equal(r, -EBADMSG);
		else if (len > 8)
			assert_int_equal(protocol_next_response(&m, &index, got), -EBADMSG);
	}
	for (size_t i = 0; i < b.len; i++) {
		struct protocol_msg m;
		uint32_t index;

		b.data[i] ^= 0xff;
		if (protocol_parse(&m, b.data, b.len) == 0 && m.type == PROTOCOL_RESPONSE)
			while (protocol_next_response(&m, &index, got) > 0)
				assert_true(strlen(got[0].name) <= PROTOCOL_STRING_MAX);
		b.data[i] ^= 0xff;
	}
	buf_fini(&b);
}

static void truncates_a_response_that_is_too_long(void **state)
{
	struct protocol_frame frames[PROTOCOL_FRAMES_MAX], got[PROTOCOL_FRAMES_MAX];
	static char name[10000];
	struct protocol_msg m;
	struct buf b = { 0 };
	uint32_t index;
	int n;

	memset(name, 'n', sizeof(name) - 1);
	for (int i = 0; i < PROTOCOL_FRAMES_MAX; i++)
		frames[i] = (struct protocol_frame){ name, name, name, 1, 1, 0 };
	protocol_put_response_header(&b, 1);
	protocol_put_response(&b, 0, frames, PROTOCOL_FRAMES_MAX);
	assert_true(b.len <= PROTOCOL_PACKET_MAX);
	assert_int_equal(protocol_parse(&m, b.data, b.len), 0);
	n = protocol_next_response(&m, &index, got);
	assert_true(n >= 2 && n < PROTOCOL_FRAMES_MAX);
	assert_int_equal(strlen(got[n - 1].file), PROTOCOL_STRING_MAX);
	buf_fini(&b);
}

TEST_GROUP(test_protocol, TEST(decodes_responses_as_encoded), TEST(decodes_requests_as_encoded),
	   TEST(reads_damaged_packets_within_bounds), TEST(truncates_a_response_that_is_too_long))
