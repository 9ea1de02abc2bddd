/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/common/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "tests/test.h"

enum { BIG = 1 << 20 };

static struct buf zeroes_gz(size_t len)
{
	struct buf gz = { 0 };
	uint8_t *zeroes = calloc(1, len);

	assert_int_equal(gzip_write(zeroes, len, GZIP_DEFAULT, &gz, NULL), 0);
	free(zeroes);
	return gz;
}

static void compressed_data_is_decompressed(void **state)
{
	static const int levels[] = { GZIP_FAST, GZIP_DEFAULT, GZIP_BEST };
	const char text[] = "many words, many words, many words";

	for (size_t i = 0; i < 3; i++) {
		struct buf gz = { 0 }, back = { 0 };

		assert_int_equal(gzip_write(text, sizeof(text), levels[i], &gz, NULL), 0);
		assert_true(gzip_is(gz.data, gz.len));
		assert_int_equal(gzip_read(gz.data, gz.len, BIG, &back, NULL), 0);
		assert_int_equal(back.len, sizeof(text));
		assert_memory_equal(back.data, text, sizeof(text));
		buf_fini(&gz);
		buf_fini(&back);
	}
}

static void members_are_read_one_after_the_other(void **state)
{
	struct buf gz = zeroes_gz(BIG), back = { 0 };

	assert_int_equal(gzip_write("tail", 4, GZIP_FAST, &gz, NULL), 0);
	assert_int_equal(gzip_write("", 0, GZIP_FAST, &gz, NULL), 0);
	assert_int_equal(gzip_read(gz.data, gz.len, 2 * BIG, &back, NULL), 0);
	assert_int_equal(back.len, BIG + 4);
	assert_memory_equal(back.data + BIG, "tail", 4);
	buf_fini(&gz);
	buf_fini(&back);
}

struct claims {
	size_t bytes, limit;
};

static int claim(void *ctx, size_t bytes, struct err *err)
{
	struct claims *c = ctx;

	c->bytes += bytes;
	return c->bytes > c->limit ? err_set(err, -ENOMEM, "no room for %zu bytes", bytes) : 0;
}

static void memory_is_claimed_before_it_is_used(void **state)
{
	struct claims c = { .limit = SIZE_MAX }, few = { .limit = BIG / 4 };
	struct buf gz = zeroes_gz(BIG), back = { 0 };
	struct err err = { 0 };

	assert_int_equal(gzip_read_claiming(gz.data, gz.len, 2 * BIG, &back, claim, &c, NULL), 0);
	assert_int_equal(c.bytes, BIG);
	/* a trailer that claims too little, and one of a thousand empty members */
	memset(gz.data + gz.len - 4, 0, 4);
	back.len = 0;
	assert_int_equal(gzip_read_claiming(gz.data, gz.len, 2 * BIG, &back, claim, &few, &err),
			 -ENOMEM);
	assert_true(back.cap < 2 * BIG && few.bytes < BIG);
	assert_non_null(strstr(err.msg, "no room"));
	gz.len = 0;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(gzip_write("", 0, GZIP_FAST, &gz, NULL), 0);
	back.len = 0;
	c.bytes = 0;
	assert_int_equal(gzip_read_claiming(gz.data, gz.len, BIG, &back, claim, &c, NULL), 0);
	assert_true(c.bytes <= 8192);
	buf_fini(&gz);
	buf_fini(&back);
}

static void data_beyond_the_limit_is_refused(void **state)
{
	struct buf gz = zeroes_gz(BIG), back = { 0 };
	struct err err = { 0 };

	assert_int_equal(gzip_read(gz.data, gz.len, BIG, &back, NULL), 0);
	back.len = 0;
	assert_int_equal(gzip_read(gz.data, gz.len, BIG - 1, &back, &err), -EFBIG);
	assert_string_equal(err.msg, "decompressed data exceeds the limit of 1048575 bytes");
	/* the limit applies to all members together */
	assert_int_equal(gzip_write("x", 1, GZIP_FAST, &gz, NULL), 0);
	back.len = 0;
	assert_int_equal(gzip_read(gz.data, gz.len, BIG, &back, NULL), -EFBIG);
	back.len = 0;
	assert_int_equal(gzip_read(gz.data, gz.len, BIG + 1, &back, NULL), 0);
	buf_fini(&gz);
	buf_fini(&back);
}

static void a_false_trailer_is_detected(void **state)
{
	struct buf gz = zeroes_gz(BIG), back = { 0 };

	memset(gz.data + gz.len - 4, 0xff, 4);
	assert_int_equal(gzip_read(gz.data, gz.len, SIZE_MAX / 4, &back, NULL), -EBADMSG);
	memset(gz.data + gz.len - 4, 0, 4);
	assert_int_equal(gzip_read(gz.data, gz.len, SIZE_MAX / 4, &back, NULL), -EBADMSG);
	buf_fini(&gz);
	buf_fini(&back);
}

static void damaged_data_is_refused(void **state)
{
	struct buf gz = zeroes_gz(1000), back = { 0 };

	for (size_t len = 0; len < gz.len; len++)
		assert_int_equal(gzip_read(gz.data, len, BIG, &back, NULL), -EBADMSG);
	buf_put_str(&gz, "rubbish after the last member");
	assert_int_equal(gzip_read(gz.data, gz.len, BIG, &back, NULL), -EBADMSG);
	assert_false(gzip_is("\x1f", 1));
	assert_false(gzip_is("PK", 2));
	buf_fini(&gz);
	buf_fini(&back);
}

TEST_GROUP(test_gzip, TEST(compressed_data_is_decompressed),
	   TEST(members_are_read_one_after_the_other), TEST(memory_is_claimed_before_it_is_used),
	   TEST(data_beyond_the_limit_is_refused), TEST(a_false_trailer_is_detected),
	   TEST(damaged_data_is_refused))
