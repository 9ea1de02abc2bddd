/* SPDX-License-Identifier: Apache-2.0 */
#include "export/otlp_answer.h"

#include <string.h>

#include "base/buf.h"
#include "codec/common/wire.h"
#include "tests/test.h"

static void the_number_and_the_reason_of_rejections_are_read(void **state)
{
	struct otlp_answer a = { 0 };
	struct buf b = { 0 };
	size_t at = wire_begin(&b, 1);

	wire_put_uint(&b, 1, 3);
	wire_put_bytes(&b, 2, "too old", 7);
	wire_end(&b, at);
	otlp_answer_read(b.data, b.len, &a);
	assert_int_equal(a.rejected, 3);
	assert_string_equal(a.message, "too old");
	buf_fini(&b);
}

static void a_negative_number_of_rejections_is_none(void **state)
{
	struct otlp_answer a = { 0 };
	struct buf b = { 0 };
	size_t at = wire_begin(&b, 1);

	wire_put_int(&b, 1, -3);
	wire_end(&b, at);
	otlp_answer_read(b.data, b.len, &a);
	assert_int_equal(a.rejected, 0);
	buf_fini(&b);
}

/* Writes a google.rpc.Status with one detail of this type. */
static struct otlp_answer status_of(const char *type, int64_t seconds, int64_t nanos)
{
	struct otlp_answer a = { 0 };
	struct buf b = { 0 };
	size_t detail, info, delay;

	wire_put_uint(&b, 1, 8);
	wire_put_bytes(&b, 2, "slow", 4);
	detail = wire_begin(&b, 3);
	wire_put_bytes(&b, 1, type, strlen(type));
	info = wire_begin(&b, 2);
	delay = wire_begin(&b, 1);
	wire_put_int(&b, 1, seconds);
	wire_put_int(&b, 2, nanos);
	wire_end(&b, delay);
	wire_end(&b, info);
	wire_end(&b, detail);
	otlp_answer_read_status(b.data, b.len, &a);
	buf_fini(&b);
	return a;
}

static void the_retry_delay_is_read_and_limited(void **state)
{
	static const char type[] = "type.googleapis.com/google.rpc.RetryInfo";
	static const struct {
		int64_t seconds, nanos, ms;
	} cases[] = { { 2, 500000000, 2500 },
		      { 0, 0, 0 },
		      { 86400LL * 400, 0, 86400000 },
		      { -1, 0, 0 },
		      { 1, -1, 0 },
		      { 1, 1000000000, 0 },
		      { INT64_MAX, 0, 86400000 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct otlp_answer a = status_of(type, cases[i].seconds, cases[i].nanos);

		assert_string_equal(a.message, "slow");
		assert_true(a.may_retry);
		assert_int_equal(a.retry_ms, cases[i].ms);
	}
}

static void details_of_other_types_are_ignored(void **state)
{
	static const char *const types[] = { "", "x", "type.googleapis.com/google.rpc.Help",
					     "google.rpc.RetryInfoX" };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		assert_false(status_of(types[i], 2, 0).may_retry);
}

static void percent_encoding_is_decoded(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = { { "plain", "plain" }, { "a%20b", "a b" }, { "%C3%bc", "\xc3\xbc" },
		      { "50%", "50%" },     { "%2", "%2" },     { "%zz", "%zz" },
		      { "%00x", "?x" },     { "%41%", "A%" } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct otlp_answer a = { 0 };

		otlp_answer_read_message(cases[i].in, &a);
		assert_string_equal(a.message, cases[i].out);
	}
}

static void an_endless_message_is_truncated(void **state)
{
	struct otlp_answer a = { 0 };
	char text[1000];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	otlp_answer_read_message(text, &a);
	assert_int_equal(strlen(a.message), OTLP_MESSAGE_LEN - 1);
}

TEST_GROUP(test_otlp_answer, TEST(the_number_and_the_reason_of_rejections_are_read),
	   TEST(a_negative_number_of_rejections_is_none), TEST(the_retry_delay_is_read_and_limited),
	   TEST(details_of_other_types_are_ignored), TEST(percent_encoding_is_decoded),
	   TEST(an_endless_message_is_truncated))
