/* SPDX-License-Identifier: Apache-2.0 */
/* Pushes in protobuf and in JSON, and what can be queried afterwards. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../store/fixture.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/common/wire.h"
#include "codec/pprof/pprof.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

#define PUSH  "/push.v1.PusherService/Push"
#define RANGE "\"start\":1,\"end\":9000000000000"

/* The pprof of folded stacks, whose samples are 10 ms each. */
static struct buf pprof_of(const char *folded, bool compressed)
{
	_cleanup_(profile_freep) struct profile *p = fixture_profile(folded);
	struct buf b = { 0 };

	profile_meta(p)->time_ns = DATA_S * 1000000000;
	assert_int_equal(compressed ? pprof_write_gz(p, &b, NULL) : pprof_write(p, &b, NULL), 0);
	return b;
}

static void put_label(struct buf *b, const char *name, const char *value)
{
	size_t at = wire_begin(b, 1);

	wire_put_bytes(b, 1, name, strlen(name));
	wire_put_bytes(b, 2, value, strlen(value));
	wire_end(b, at);
}

/* Appends a series with one profile; @name NULL: without a name. */
static void put_series(struct buf *b, const char *name, const char *service, const char *id,
		       const struct buf *raw)
{
	size_t series = wire_begin(b, 1), sample;

	if (name)
		put_label(b, "__name__", name);
	put_label(b, "service_name", service);
	sample = wire_begin(b, 2);
	wire_put_bytes(b, 1, raw->data, raw->len);
	wire_put_bytes(b, 2, id, strlen(id));
	wire_end(b, sample);
	wire_end(b, series);
}

/* Sends the push and empties it. */
static int push(struct scene *s, struct buf *b)
{
	static const char *const headers[] = { "Content-Type: application/proto", NULL };
	int status = scene_send(s, "POST", PUSH, headers, b->data, b->len);

	b->len = 0;
	return status;
}

static int64_t total_of(struct scene *s, const char *service)
{
	char selector[100];

	snprintf(selector, sizeof(selector), "{service_name=\\\"%s\\\"}", service);
	return scene_total(s, selector, RANGE);
}

static void profiles_are_stored_with_the_labels_of_their_series(void **state)
{
	struct buf b = { 0 }, raw = pprof_of("main;f 3\n", false),
		   packed = pprof_of("main;g 4\n", true);
	struct scene s;

	scene_begin(&s, NULL);
	put_series(&b, "process_cpu", "a", "", &raw);
	put_series(&b, "process_cpu", "b", "", &packed);
	assert_int_equal(push(&s, &b), 200);
	assert_int_equal(s.answer.body.len, 0);
	assert_int_equal(total_of(&s, "a"), 30000000);
	assert_int_equal(total_of(&s, "b"), 40000000);
	buf_fini(&b);
	buf_fini(&raw);
	buf_fini(&packed);
	scene_end(&s);
}

static void a_profile_with_an_id_counts_once(void **state)
{
	struct buf b = { 0 }, raw = pprof_of("main;f 3\n", true);
	struct scene s;

	scene_begin(&s, NULL);
	for (int i = 0; i < 2; i++) {
		put_series(&b, "process_cpu", "same", "7d8c4b6e", &raw);
		put_series(&b, "process_cpu", "none", "", &raw);
		assert_int_equal(push(&s, &b), 200);
	}
	assert_int_equal(total_of(&s, "same"), 30000000);
	assert_int_equal(total_of(&s, "none"), 60000000);
	buf_fini(&b);
	buf_fini(&raw);
	scene_end(&s);
}

static void json_is_accepted_like_protobuf(void **state)
{
	struct buf raw = pprof_of("main;f 3\n", true), json = { 0 };
	struct scene s;

	scene_begin(&s, NULL);
	buf_put_str(&json, "{\"series\":[{\"labels\":[{\"name\":\"__name__\",\"value\":"
			   "\"process_cpu\"},{\"name\":\"service_name\",\"value\":\"j\"}],"
			   "\"samples\":[{\"rawProfile\":\"");
	base64_encode(raw.data, raw.len, &json);
	buf_put_str(&json, "\"}]}]}");
	buf_put_byte(&json, 0);
	scene_expect(&s, PUSH, (char *)json.data, 200, "{}");
	assert_int_equal(total_of(&s, "j"), 30000000);
	buf_fini(&raw);
	buf_fini(&json);
	scene_end(&s);
}

static void one_bad_profile_does_not_refuse_the_others(void **state)
{
	struct buf b = { 0 }, raw = pprof_of("main;f 3\n", true), bad = { 0 }, none = { 0 };
	struct scene s;

	scene_begin(&s, NULL);
	buf_put_str(&bad, "not a pprof");
	put_series(&b, "process_cpu", "good", "", &raw);
	put_series(&b, "process_cpu", "bad", "", &bad);
	put_series(&b, NULL, "nameless", "", &raw);
	put_series(&b, "process_cpu", "empty", "", &none);
	put_series(&b, "process_cpu", "good", "", &raw);
	assert_int_equal(push(&s, &b), 400);
	assert_non_null(strstr(scene_text(&s), "\"code\":\"invalid_argument\""));
	assert_non_null(strstr(scene_text(&s), "3 of 5 profiles refused, the others stored; "));
	assert_non_null(strstr(scene_text(&s), "series 1: "));
	assert_int_equal(total_of(&s, "good"), 60000000);
	assert_int_equal(total_of(&s, "nameless"), 0);
	buf_fini(&b);
	buf_fini(&raw);
	buf_fini(&bad);
	scene_end(&s);
}

static void the_reason_of_a_refused_series_is_named(void **state)
{
	static const char *const reasons[] = { "\"series 0: series has no label \\\"__name__\\\"",
					       "\"series 0: rawProfile is empty" };
	struct buf b = { 0 }, raw = pprof_of("main;f 3\n", true), none = { 0 };
	struct scene s;

	scene_begin(&s, NULL);
	for (int i = 0; i < 2; i++) {
		put_series(&b, i ? "process_cpu" : "", "x", "", i ? &none : &raw);
		assert_int_equal(push(&s, &b), 400);
		assert_non_null(strstr(scene_text(&s), reasons[i]));
	}
	scene_refuses(&s, PUSH, "{}", 400, "invalid_argument", "request has no series");
	scene_refuses(&s, PUSH, "{\"series\":[{\"samples\":7}]}", 400, "invalid_argument", "");
	buf_fini(&b);
	buf_fini(&raw);
	scene_end(&s);
}

static void a_truncated_push_stores_nothing(void **state)
{
	struct buf b = { 0 }, raw = pprof_of("main;f 3\n", true);
	size_t len;
	struct scene s;

	scene_begin(&s, NULL);
	put_series(&b, "process_cpu", "cut", "", &raw);
	len = b.len;
	for (size_t cut = 1; cut < len; cut += len / 20) {
		b.len = cut;
		assert_int_equal(push(&s, &b), 400);
	}
	assert_int_equal(total_of(&s, "cut"), 0);
	b.len = len;
	assert_int_equal(push(&s, &b), 200);
	assert_int_equal(total_of(&s, "cut"), 30000000);
	buf_fini(&b);
	buf_fini(&raw);
	scene_end(&s);
}

TEST_GROUP(test_push, TEST(profiles_are_stored_with_the_labels_of_their_series),
	   TEST(a_profile_with_an_id_counts_once), TEST(json_is_accepted_like_protobuf),
	   TEST(one_bad_profile_does_not_refuse_the_others),
	   TEST(the_reason_of_a_refused_series_is_named), TEST(a_truncated_push_stores_nothing))
