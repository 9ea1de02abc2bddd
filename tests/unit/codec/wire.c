/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/common/wire.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "tests/test.h"

static struct wire wire_of_buf(const struct buf *b)
{
	return wire_of(b->data, b->len);
}

static void numbers_are_read_back_unchanged(void **state)
{
	static const uint64_t values[] = { 1,          127,        128,        16383,     16384,
					   UINT32_MAX, 1ull << 56, 1ull << 63, UINT64_MAX };
	struct buf b = { 0 };
	struct wire_field f;
	struct wire w;

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		wire_put_uint(&b, 3, values[i]);
		wire_put_fixed64(&b, 100, values[i]);
	}
	w = wire_of_buf(&b);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		assert_int_equal(wire_next(&w, &f), 1);
		assert_int_equal(f.number, 3);
		assert_int_equal(f.type, WIRE_VARINT);
		assert_true(f.value == values[i]);
		assert_int_equal(wire_next(&w, &f), 1);
		assert_int_equal(f.number, 100);
		assert_int_equal(f.type, WIRE_FIXED64);
		assert_true(f.value == values[i]);
	}
	assert_int_equal(wire_next(&w, &f), 0);
	buf_fini(&b);
}

static void zero_is_omitted(void **state)
{
	struct buf b = { 0 };

	wire_put_uint(&b, 1, 0);
	wire_put_int(&b, 1, 0);
	wire_put_bool(&b, 1, false);
	wire_put_fixed64(&b, 1, 0);
	assert_int_equal(b.len, 0);
	wire_put_bytes(&b, 1, "", 0);
	assert_int_equal(b.len, 2);
	buf_fini(&b);
}

/* Writes a nested message whose inner one has @len bytes of text, and reads it back. */
static void check_nested(size_t len)
{
	struct buf b = { 0 };
	struct wire_field f;
	struct wire w, in;
	size_t outer, inner;
	char text[70000];

	memset(text, 'x', sizeof(text));
	wire_put_uint(&b, 9, 1);
	outer = wire_begin(&b, 1);
	inner = wire_begin(&b, 2);
	wire_put_bytes(&b, 3, text, len);
	wire_end(&b, inner);
	wire_put_uint(&b, 4, 44);
	wire_end(&b, outer);
	wire_put_uint(&b, 9, 2);
	w = wire_of_buf(&b);
	assert_int_equal(wire_next(&w, &f), 1);
	assert_int_equal(wire_next(&w, &f), 1);
	assert_int_equal(f.number, 1);
	w = f.bytes;
	assert_int_equal(wire_next(&w, &f), 1);
	assert_int_equal(f.number, 2);
	in = f.bytes;
	assert_int_equal(wire_next(&in, &f), 1);
	assert_int_equal(f.number, 3);
	assert_int_equal(wire_len(f.bytes), len);
	if (len)
		assert_memory_equal(f.bytes.p, text, len);
	assert_int_equal(wire_next(&w, &f), 1);
	assert_int_equal(f.number, 4);
	assert_int_equal(f.value, 44);
	assert_int_equal(wire_next(&w, &f), 0);
	buf_fini(&b);
}

static void nested_messages_of_any_length_are_read_back(void **state)
{
	static const size_t lens[] = {
		0, 1, 120, 124, 125, 126, 127, 128, 129, 16380, 16384, 65000
	};

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		check_nested(lens[i]);
}

static void repeated_numbers_are_read_packed_and_unpacked(void **state)
{
	static const uint8_t bytes[] = { 0x0a, 3, 1, 0xac, 2, 0x08, 9 };
	struct wire w = wire_of(bytes, sizeof(bytes));
	struct wire_field f;
	struct wire_nums it;
	uint64_t v;

	assert_int_equal(wire_next(&w, &f), 1);
	it = wire_nums(&f, WIRE_VARINT);
	assert_int_equal(wire_nums_next(&it, &v), 1);
	assert_int_equal(v, 1);
	assert_int_equal(wire_nums_next(&it, &v), 1);
	assert_int_equal(v, 300);
	assert_int_equal(wire_nums_next(&it, &v), 0);
	assert_int_equal(wire_next(&w, &f), 1);
	it = wire_nums(&f, WIRE_VARINT);
	assert_int_equal(wire_nums_next(&it, &v), 1);
	assert_int_equal(v, 9);
	assert_int_equal(wire_nums_next(&it, &v), 0);
	it = wire_nums(&f, WIRE_FIXED64);
	assert_int_equal(wire_nums_next(&it, &v), -EBADMSG);
}

static void malformed_messages_are_refused(void **state)
{
	static const struct {
		size_t len;
		uint8_t bytes[12];
	} bad[] = {
		{ 1, { 0x08 } },       /* no value */
		{ 2, { 0x08, 0x80 } }, /* a varint that does not end */
		/* a varint of 65 bits */
		{ 12, { 8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2 } },
		{ 2, { 0x0a, 1 } }, /* a length of one byte, followed by none */
		{ 12, { 0x0a, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1 } },
		{ 8, { 0x09, 1, 2, 3, 4, 5, 6, 7 } }, /* seven bytes of a 64-bit number */
		{ 4, { 0x0d, 1, 2, 3 } },             /* three bytes of a 32-bit number */
		{ 2, { 0x0b, 0x0c } },                /* a group */
		{ 2, { 0x0e, 1 } },                   /* wire types 6 and 7 do not exist */
		{ 2, { 0x0f, 1 } },
		{ 2, { 0x00, 1 } },                            /* field 0 */
		{ 7, { 0x88, 0x80, 0x80, 0x80, 0x80, 1, 1 } }, /* a field number of 30 bits */
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct wire w = wire_of(bad[i].bytes, bad[i].len);
		struct wire_field f;

		assert_int_equal(wire_next(&w, &f), -EBADMSG);
	}
}

static void plain_varints_end_with_their_bytes(void **state)
{
	static const uint8_t bytes[] = { 5, 0x80 };
	struct wire w = wire_of(bytes, sizeof(bytes));
	uint64_t v;

	assert_int_equal(wire_varint(&w, &v), 1);
	assert_int_equal(v, 5);
	assert_int_equal(wire_varint(&w, &v), -EBADMSG);
	w = wire_of(NULL, 0);
	assert_int_equal(wire_varint(&w, &v), 0);
}

TEST_GROUP(test_wire, TEST(numbers_are_read_back_unchanged), TEST(zero_is_omitted),
	   TEST(nested_messages_of_any_length_are_read_back),
	   TEST(repeated_numbers_are_read_packed_and_unpacked),
	   TEST(malformed_messages_are_refused), TEST(plain_varints_end_with_their_bytes))
