/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of a toy format: {"numbers": [...], "text": "..."}, and the profiles that readers build.
 */
#include "codec/common/json_profile.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "tests/test.h"

struct toy {
	struct json_profile jp;
	struct err err;
	int64_t numbers[8];
	size_t n;
	char text[8], keys[200];
	int stop_with; /* the result of a member called "stop" */
};

static void toy_init(struct toy *t)
{
	*t = (struct toy){ 0 };
	assert_int_equal(json_profile_init(&t->jp, 1, NULL, "toy", &t->err), 0);
}

static int on_number(void *ctx)
{
	struct toy *t = ctx;

	assert_true(t->n < 8);
	return json_profile_int(&t->jp, &t->numbers[t->n++]);
}

static int on_member(void *ctx, const char *key)
{
	struct toy *t = ctx;

	strncat(t->keys, key, sizeof(t->keys) - strlen(t->keys) - 1);
	if (!strcmp(key, "numbers"))
		return json_profile_items(&t->jp, on_number, t);
	if (!strcmp(key, "text"))
		return json_profile_text(&t->jp, t->text, sizeof(t->text));
	if (!strcmp(key, "object"))
		return json_profile_members(&t->jp, on_member, t);
	if (!strcmp(key, "stop"))
		return t->stop_with;
	return json_profile_skip(&t->jp);
}

static int read_toy(struct toy *t, const char *text, size_t len)
{
	return json_profile_read_object(&t->jp, text, len, on_member, t);
}

static void members_come_in_any_order_and_unknown_ones_are_skipped(void **state)
{
	static const char text[] =
		" {\"x\":[{\"y\":[]}],\"text\":\"a\\u00e4\",\"object\":{\"numbers\":[1,-2.5,"
		"2.4999]}}\n";
	struct toy t;

	toy_init(&t);
	assert_int_equal(read_toy(&t, text, strlen(text)), 0);
	assert_string_equal(t.keys, "xtextobjectnumbers");
	assert_string_equal(t.text, "a\xc3\xa4");
	assert_int_equal(t.n, 3);
	assert_int_equal(t.numbers[0], 1);
	assert_int_equal(t.numbers[1], -3);
	assert_int_equal(t.numbers[2], 2);
	json_profile_fini(&t.jp);
}

static void a_file_can_be_passed_over_again(void **state)
{
	static const char text[] = "{\"numbers\":[1]}", list[] = "[4,5]";
	struct toy t;

	toy_init(&t);
	for (int i = 0; i < 3; i++)
		assert_int_equal(read_toy(&t, text, strlen(text)), 0);
	assert_int_equal(t.n, 3);
	assert_int_equal(json_profile_read_array(&t.jp, list, strlen(list), on_number, &t), 0);
	assert_int_equal(t.n, 5);
	assert_int_equal(t.numbers[4], 5);
	json_profile_fini(&t.jp);
}

static void long_keys_and_texts_are_truncated(void **state)
{
	char text[200];
	struct toy t;

	toy_init(&t);
	snprintf(text, sizeof(text), "{\"%0100d\":1,\"text\":\"0123456789\"}", 7);
	assert_int_equal(read_toy(&t, text, strlen(text)), 0);
	assert_int_equal(strlen(t.keys), 63 + 4);
	assert_string_equal(t.text, "0123456");
	json_profile_fini(&t.jp);
}

static void the_error_of_a_callback_stops_and_stays(void **state)
{
	static const char text[] = "{\"numbers\":[1],\"stop\":0,\"numbers\":[2]}";
	struct toy t;

	toy_init(&t);
	t.stop_with = err_set(&t.err, -EFBIG, "enough");
	assert_int_equal(read_toy(&t, text, strlen(text)), -EFBIG);
	assert_string_equal(t.err.msg, "enough");
	assert_int_equal(t.n, 1);
	json_profile_fini(&t.jp);
}

/* Reads a text that is malformed, and expects the reason to end like @why. */
static void assert_malformed(const char *text, const char *why)
{
	struct toy t;

	toy_init(&t);
	assert_int_equal(read_toy(&t, text, strlen(text)), -EBADMSG);
	assert_string_equal(t.err.msg, why);
	json_profile_fini(&t.jp);
}

static void errors_name_the_format_and_the_position(void **state)
{
	assert_malformed("", "byte 0: malformed toy");
	assert_malformed("[]", "byte 0: malformed toy");
	assert_malformed("{\"numbers\":1}", "byte 11: malformed toy");
	assert_malformed("{\"numbers\":[\"1\"]}", "byte 12: malformed toy");
	assert_malformed("{\"text\":1}", "byte 8: malformed toy");
	assert_malformed("{} {}", "byte 3: malformed toy");
	assert_malformed("{\"numbers\":[1e300]}", "byte 17: number out of range");
}

static void a_file_truncated_anywhere_is_refused(void **state)
{
	static const char text[] = "{\"x\":[{\"y\":null}],\"text\":\"a\\u00e4\",\"numbers\":[1,2]}";

	for (size_t len = 0; len < strlen(text); len++) {
		char *copy = malloc(len + !len);
		struct toy t;

		assert_non_null(copy);
		memcpy(copy, text, len);
		toy_init(&t);
		assert_int_equal(read_toy(&t, copy, len), -EBADMSG);
		assert_non_null(strstr(t.err.msg, "malformed toy"));
		json_profile_fini(&t.jp);
		free(copy);
	}
}

static void numbers_are_rounded_or_out_of_range(void **state)
{
	static const double bad[] = { 9.3e18, -9.3e18, INFINITY, -INFINITY, NAN };
	struct toy t;
	int64_t v;

	toy_init(&t);
	assert_int_equal(json_profile_round(&t.jp, 0.5, &v), 0);
	assert_int_equal(v, 1);
	assert_int_equal(json_profile_round(&t.jp, -0.5, &v), 0);
	assert_int_equal(v, -1);
	assert_int_equal(json_profile_round(&t.jp, -0.4, &v), 0);
	assert_int_equal(v, 0);
	assert_int_equal(json_profile_round(&t.jp, 1e15 + 1, &v), 0);
	assert_int_equal(v, 1000000000000001);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		t.err = (struct err){ 0 };
		assert_int_equal(json_profile_round(&t.jp, bad[i], &v), -EBADMSG);
		assert_string_equal(t.err.msg, "byte 0: number out of range");
	}
	json_profile_fini(&t.jp);
}

static void a_file_that_is_too_large_is_refused(void **state)
{
	struct codec_limits l = codec_limits_default();
	struct json_profile jp;
	struct err err = { 0 };

	l.bytes = 100;
	assert_int_equal(json_profile_init(&jp, 101, &l, "toy", &err), -EFBIG);
	assert_string_equal(err.msg, "file exceeds the limit of 100 bytes");
	json_profile_fini(&jp);
	assert_int_equal(json_profile_init(&jp, 100, &l, "toy", NULL), 0);
	json_profile_fini(&jp);
}

static bool is_json(const char *text)
{
	return json_profile_is_json(text, strlen(text));
}

static void json_is_recognized_by_its_beginning(void **state)
{
	assert_true(is_json("{"));
	assert_true(is_json("{\n\"a\":1}"));
	assert_true(is_json(" \n{\"a\":1}"));
	assert_true(is_json("[{}]"));
	assert_true(is_json("[ ]"));
	assert_true(is_json("\t[\n {"));
	assert_false(is_json(""));
	assert_false(is_json(" "));
	assert_false(is_json("["));
	assert_false(is_json("[unknown];main 1"));
	/* Protobuf: field 1 of 123 bytes. */
	assert_false(is_json("\n{\x08\x01"));
	assert_false(is_json("\n{"));
	assert_false(json_profile_is_json("\0{", 2));
	assert_true(json_profile_is_array(" [1]", 4));
	assert_false(json_profile_is_array("{}", 2));
	assert_false(json_profile_is_array("", 0));
}

static uint32_t string(struct toy *t, const char *s)
{
	uint32_t id;

	assert_int_equal(profile_add_string(t->jp.p, s, strlen(s), &id), 0);
	return id;
}

static struct profile_location add_frame(struct toy *t, const struct json_frame *f, uint32_t *id)
{
	assert_int_equal(json_profile_add_frame(&t->jp, f, id), 0);
	return profile_location(t->jp.p, *id);
}

static void frames_become_locations(void **state)
{
	struct toy t;
	struct json_frame f = { .mapping = PROFILE_NONE };
	struct profile_location l;
	uint32_t id, again;

	toy_init(&t);
	f.name = string(&t, "f");
	f.file = string(&t, "f.py");
	f.start_line = -1;
	f.line = 12;
	f.column = (int64_t)INT32_MAX + 1;
	l = add_frame(&t, &f, &id);
	assert_int_equal(l.n_lines, 1);
	assert_int_equal(l.lines[0].line, 12);
	assert_int_equal(l.lines[0].column, 0);
	assert_int_equal(l.kind, PROFILE_FRAME_PYTHON);
	assert_int_equal(profile_function(t.jp.p, l.lines[0].function)->start_line, 0);
	assert_int_equal(profile_function(t.jp.p, l.lines[0].function)->name, f.name);
	add_frame(&t, &f, &again);
	assert_int_equal(again, id);
	f.kind = PROFILE_FRAME_KERNEL;
	l = add_frame(&t, &f, &again);
	assert_int_not_equal(again, id);
	assert_int_equal(l.kind, PROFILE_FRAME_KERNEL);
	json_profile_fini(&t.jp);
}

static void stacks_are_reversed_and_their_sum_is_limited(void **state)
{
	struct json_ids ids = { 0 };
	struct toy t;
	uint32_t id, again;
	size_t n;

	toy_init(&t);
	t.jp.limits.entries = 5;
	for (uint32_t i = 0; i < 3; i++) {
		struct json_frame f = { .mapping = PROFILE_NONE, .address = i };
		uint32_t location;

		add_frame(&t, &f, &location);
		assert_int_equal(vec_push(&ids, location), 0);
	}
	assert_int_equal(json_profile_add_stack(&t.jp, &ids, &id), 0);
	assert_int_equal(profile_stack(t.jp.p, id, &n)[0], ids.data[2]);
	assert_int_equal(n, 3);
	/* Unmodified, and an equal stack does not count again. */
	for (int i = 0; i < 10; i++)
		assert_int_equal(json_profile_add_stack(&t.jp, &ids, &again), 0);
	assert_int_equal(again, id);
	ids.len = 2;
	assert_int_equal(json_profile_add_stack(&t.jp, &ids, &again), 0);
	ids.len = 1;
	assert_int_equal(json_profile_add_stack(&t.jp, &ids, &again), -EFBIG);
	assert_string_equal(t.err.msg, "stacks exceed the limit of 5 frames in total");
	vec_fini(&ids);
	json_profile_fini(&t.jp);
}

static void the_number_of_samples_is_limited(void **state)
{
	const int64_t value = 1;
	struct profile_sample s = { .values = &value };
	struct json_ids none = { 0 };
	struct toy t;

	toy_init(&t);
	t.jp.limits.samples = 1;
	assert_int_equal(profile_add_sample_type(t.jp.p, "samples", "count"), 0);
	assert_int_equal(json_profile_add_stack(&t.jp, &none, &s.stack), 0);
	assert_int_equal(json_profile_add_sample(&t.jp, &s), 0);
	assert_int_equal(json_profile_add_sample(&t.jp, &s), -EFBIG);
	assert_string_equal(t.err.msg, "more than 1 samples");
	json_profile_fini(&t.jp);
}

static void assert_label(const struct toy *t, const struct profile_label *l, const char *key,
			 const char *str, int64_t num)
{
	assert_string_equal(profile_string(t->jp.p, l->key), key);
	assert_string_equal(profile_string(t->jp.p, l->str), str);
	assert_int_equal(l->num, num);
}

static void a_thread_has_the_labels_that_are_known(void **state)
{
	struct json_thread th = { .pid = 7, .tid = 8 };
	struct toy t;

	toy_init(&t);
	assert_int_equal(json_profile_label_thread(&t.jp, &th), 0);
	assert_int_equal(th.n_labels, 2);
	assert_label(&t, &th.labels[0], "pid", "", 7);
	assert_label(&t, &th.labels[1], "tid", "", 8);
	th.process = string(&t, "sh");
	th.name = string(&t, "worker");
	/* Filling in again replaces the labels. */
	assert_int_equal(json_profile_label_thread(&t.jp, &th), 0);
	assert_int_equal(th.n_labels, JSON_THREAD_LABELS);
	assert_label(&t, &th.labels[2], "comm", "sh", 0);
	assert_label(&t, &th.labels[3], "thread", "worker", 0);
	json_profile_fini(&t.jp);
}

TEST_GROUP(test_json_profile, TEST(members_come_in_any_order_and_unknown_ones_are_skipped),
	   TEST(a_file_can_be_passed_over_again), TEST(long_keys_and_texts_are_truncated),
	   TEST(the_error_of_a_callback_stops_and_stays),
	   TEST(errors_name_the_format_and_the_position),
	   TEST(a_file_truncated_anywhere_is_refused), TEST(numbers_are_rounded_or_out_of_range),
	   TEST(a_file_that_is_too_large_is_refused), TEST(json_is_recognized_by_its_beginning),
	   TEST(frames_become_locations), TEST(stacks_are_reversed_and_their_sum_is_limited),
	   TEST(the_number_of_samples_is_limited), TEST(a_thread_has_the_labels_that_are_known))
