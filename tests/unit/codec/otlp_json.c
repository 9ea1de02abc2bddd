/* SPDX-License-Identifier: Apache-2.0 */
/* Requests in OTLP's JSON encoding are compared with the same requests in protobuf. */
#include "codec/otlp/otlp_json.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/otlp/otlp_read.h"
#include "profile/profile.h"
#include "tests/test.h"

static const char request[] =
	"{\"resourceProfiles\":[{\"resource\":{\"attributes\":[{\"key\":\"a\",\"value\":"
	"{\"intValue\":\"-7\"}},{\"key\":\"b\",\"value\":{\"boolValue\":true}}]},"
	"\"scope_profiles\":[{\"profiles\":[{\"sampleType\":{\"typeStrindex\":1},"
	"\"timeUnixNano\":\"18\",\"unknown\":{\"x\":[null]},\"profileId\":"
	"\"000102030405060708090a0b0c0d0e0f\",\"samples\":["
	"{\"stackIndex\":1,\"values\":[\"-3\",4.0],\"timestampsUnixNano\":[\"5\",6]}]}]}]}],"
	"\"dictionary\":{\"stringTable\":[\"\",\"cpu\",\"ma\\u0069n\"],\"functionTable\":[{},"
	"{\"nameStrindex\":2}],\"locationTable\":[{},{\"lines\":[{\"functionIndex\":1}]}],"
	"\"stackTable\":[{},{\"locationIndices\":[1]}],\"linkTable\":null}}";

struct seen {
	size_t n;
	int64_t value, time_ns, number;
	char name[16];
	uint8_t id[16];
};

static int see(void *ctx, const struct otlp_profile *part)
{
	struct seen *s = ctx;
	struct profile *p = part->profile;
	struct profile_sample sample = profile_sample(p, 0);
	struct profile_location l = profile_location(p, profile_stack(p, sample.stack, NULL)[0]);
	uint32_t name = profile_function(p, l.lines[0].function)->name;

	s->n++;
	s->value = sample.values[0];
	s->time_ns = profile_meta(p)->time_ns;
	s->number = part->n_resource == 2 ? part->resource[0].num : 0;
	snprintf(s->name, sizeof(s->name), "%s", profile_string(p, name));
	if (part->id_len == sizeof(s->id))
		memcpy(s->id, part->id, sizeof(s->id));
	profile_free(p);
	return 0;
}

static void json_is_read_like_protobuf(void **state)
{
	struct seen s = { 0 };
	struct buf b = { 0 };

	assert_int_equal(otlp_json_read(request, strlen(request), &b, NULL), 0);
	assert_int_equal(otlp_read_profiles(b.data, b.len, NULL, see, &s, NULL), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.value, 1);
	assert_int_equal(s.time_ns, 18);
	assert_int_equal(s.number, -7);
	assert_string_equal(s.name, "main");
	assert_int_equal(s.id[15], 15);
	buf_fini(&b);
}

static void text_truncated_anywhere_is_refused(void **state)
{
	for (size_t len = 0; len < strlen(request); len++) {
		struct buf b = { 0 };

		assert_int_equal(otlp_json_read(request, len, &b, NULL), -EBADMSG);
		buf_fini(&b);
	}
}

static void other_kinds_than_expected_are_refused(void **state)
{
	static const char *const bad[] = {
		"[]",
		"{\"dictionary\":[]}",
		"{\"resourceProfiles\":{}}",
		"{\"dictionary\":{\"stringTable\":[1]}}",
		"{\"dictionary\":{\"stackTable\":[{\"locationIndices\":[\"x\"]}]}}",
		"{\"dictionary\":{\"stackTable\":[{\"locationIndices\":[1e99]}]}}",
		"{\"dictionary\":{\"linkTable\":[{\"traceId\":\"xyz\"}]}}",
		"{} {}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct buf b = { 0 };
		struct err err = { 0 };

		assert_int_equal(otlp_json_read(bad[i], strlen(bad[i]), &b, &err), -EBADMSG);
		assert_non_null(strstr(err.msg, "byte "));
		buf_fini(&b);
	}
}

int test_otlp_json(void);

int test_otlp_json(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_is_read_like_protobuf),
		cmocka_unit_test(text_truncated_anywhere_is_refused),
		cmocka_unit_test(other_kinds_than_expected_are_refused),
	};

	return TEST_RUN("codec/otlp_json", tests, NULL, NULL);
}
