/* SPDX-License-Identifier: Apache-2.0 */
/*
 * covers: src/codec/jfr/jfr_read.c src/codec/jfr/jfr_stacks.c src/codec/jfr/jfr_types.c
 * src/codec/jfr/jfr_chunk.c
 */
#include "codec/jfr/jfr_read.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/common/limits.h"
#include "codec/jfr/jfr_labels.h"
#include "codec/text/text.h"
#include "profile/profile.h"
#include "tests/test.h"
#include "tests/unit/codec/jfr_fixture.h"

static void sample(struct jfr_fixture *f, unsigned int class, uint64_t stack, uint64_t value)
{
	jfr_fixture_sample(f, class, 1, stack, 1, value, 0);
}

static void expect_folded(const struct profile *p, size_t type, const char *text)
{
	struct format_options opt = { .value_num = type };
	struct buf out = { 0 };

	assert_int_equal(folded_write(p, &opt, &out, NULL), 0);
	buf_put_byte(&out, 0);
	assert_string_equal((char *)out.data, text);
	buf_fini(&out);
}

static void read_all(struct jfr_profiles *out, const struct jfr_fixture *f,
		     const struct jfr_options *opt)
{
	struct err err = { 0 };

	if (jfr_read_profiles(out, f->out.data, f->out.len, opt, NULL, &err) < 0)
		fail_msg("%s", err.msg);
}

static void each_kind_is_a_profile_with_its_types(void **state)
{
	struct jfr_fixture f = { 0 };
	struct jfr_options opt = { .period_ns = 10 };
	struct jfr_profiles r;

	sample(&f, JFR_FIXTURE_EXECUTION, 1, 0);
	sample(&f, JFR_FIXTURE_EXECUTION, 1, 0);
	sample(&f, JFR_FIXTURE_OTHER, 1, 5);
	sample(&f, JFR_FIXTURE_ALLOC, 1, 4096);
	sample(&f, JFR_FIXTURE_MONITOR, 1, 50);
	jfr_fixture_end(&f);
	read_all(&r, &f, &opt);
	assert_int_equal(r.n, 3);
	assert_string_equal(r.all[0].name, "process_cpu");
	expect_folded(r.all[0].p, 0, "a.B.root;a.B.leaf 20\n");
	assert_int_equal(profile_meta(r.all[0].p)->period, 10);
	assert_int_equal(profile_meta(r.all[0].p)->time_ns, 1700000000000000000);
	assert_int_equal(profile_meta(r.all[0].p)->duration_ns, 2000000000);
	assert_string_equal(r.all[1].name, "memory");
	expect_folded(r.all[1].p, 0, "a.B.root;a.B.leaf 1\n");
	expect_folded(r.all[1].p, 1, "a.B.root;a.B.leaf 4096\n");
	/* durations are in ticks, of 2 ns here */
	assert_string_equal(r.all[2].name, "mutex");
	expect_folded(r.all[2].p, 1, "a.B.root;a.B.leaf 100\n");
	jfr_profiles_fini(&r);
	jfr_fixture_fini(&f);
}

static void frames_have_lines_and_kinds(void **state)
{
	struct jfr_fixture f = { 0 };
	struct jfr_options opt = { .period_ns = 1 };
	struct jfr_profiles r;
	struct profile_location l;

	sample(&f, JFR_FIXTURE_EXECUTION, 1, 0);
	sample(&f, JFR_FIXTURE_EXECUTION, 2, 0);
	sample(&f, JFR_FIXTURE_EXECUTION, 3, 0);
	sample(&f, JFR_FIXTURE_EXECUTION, 77, 0);
	jfr_fixture_end(&f);
	read_all(&r, &f, &opt);
	expect_folded(r.all[0].p, 0,
		      "[no stack trace] 1\n[truncated stack trace];write 1\na.B.root;a.B.leaf 1\n"
		      "sys_write_[k] 1\n");
	l = profile_location(r.all[0].p, 0);
	assert_int_equal(l.kind, PROFILE_FRAME_JVM);
	assert_int_equal(l.lines[0].line, 7);
	l = profile_location(r.all[0].p, 2);
	assert_int_equal(l.kind, PROFILE_FRAME_NATIVE);
	assert_int_equal(l.lines[0].line, 0);
	jfr_profiles_fini(&r);
	jfr_fixture_fini(&f);
}

static void wall_clock_samples_that_run_are_cpu_time_too(void **state)
{
	struct jfr_fixture f = { 0 };
	struct jfr_options opt = { 0 };
	struct jfr_profiles r;

	jfr_fixture_setting(&f, 0, "event", "wall");
	jfr_fixture_setting(&f, 0, "interval", "5000000");
	jfr_fixture_sample(&f, JFR_FIXTURE_EXECUTION, 1, 1, 1, 0, 0);
	jfr_fixture_sample(&f, JFR_FIXTURE_EXECUTION, 1, 1, 2, 0, 0);
	sample(&f, JFR_FIXTURE_WALL, 1, 3);
	jfr_fixture_end(&f);
	read_all(&r, &f, &opt);
	assert_string_equal(r.event, "wall");
	assert_int_equal(r.n, 2);
	expect_folded(r.all[0].p, 0, "a.B.root;a.B.leaf 5000000\n");
	assert_string_equal(r.all[1].name, "wall");
	expect_folded(r.all[1].p, 0, "a.B.root;a.B.leaf 25000000\n");
	jfr_profiles_fini(&r);
	jfr_fixture_fini(&f);
}

static void the_period_is_that_of_the_samples_class(void **state)
{
	static const struct {
		uint64_t id;
		const char *value;
		const char *text, *type;
	} cases[] = {
		{ JFR_FIXTURE_EXECUTION, "20 ms", "a.B.root;a.B.leaf 20000000\n", "cpu" },
		{ JFR_FIXTURE_EXECUTION, "everyChunk", "a.B.root;a.B.leaf 1\n", "samples" },
		{ JFR_FIXTURE_MONITOR, "20 ms", "a.B.root;a.B.leaf 1\n", "samples" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct jfr_fixture f = { 0 };
		struct jfr_options opt = { 0 };
		struct jfr_profiles r;

		/* the setting may follow the samples */
		sample(&f, JFR_FIXTURE_EXECUTION, 1, 0);
		jfr_fixture_setting(&f, cases[i].id, "period", cases[i].value);
		jfr_fixture_end(&f);
		read_all(&r, &f, &opt);
		expect_folded(r.all[0].p, 0, cases[i].text);
		assert_string_equal(
			profile_string(r.all[0].p, profile_sample_type(r.all[0].p, 0).type),
			cases[i].type);
		jfr_profiles_fini(&r);
		jfr_fixture_fini(&f);
	}
}

static void measured_cpu_time_replaces_samples(void **state)
{
	struct jfr_fixture f = { 0 };
	struct jfr_options opt = { .period_ns = 1000 };
	struct jfr_profiles r;

	sample(&f, JFR_FIXTURE_EXECUTION, 1, 0);
	sample(&f, JFR_FIXTURE_CPU_TIME, 1, 8);
	jfr_fixture_end(&f);
	read_all(&r, &f, &opt);
	assert_int_equal(r.n, 1);
	expect_folded(r.all[0].p, 0, "a.B.root;a.B.leaf 16\n");
	jfr_profiles_fini(&r);
	jfr_fixture_fini(&f);
}

static void chunks_are_added_up(void **state)
{
	struct jfr_fixture f = { 0 };
	struct jfr_options opt = { .period_ns = 1 };
	struct jfr_profiles r;

	sample(&f, JFR_FIXTURE_EXECUTION, 1, 0);
	jfr_fixture_end(&f);
	sample(&f, JFR_FIXTURE_EXECUTION, 1, 0);
	jfr_fixture_end(&f);
	read_all(&r, &f, &opt);
	expect_folded(r.all[0].p, 0, "a.B.root;a.B.leaf 2\n");
	jfr_profiles_fini(&r);
	jfr_fixture_fini(&f);
}

/* context 9 has the label route=/pay; 2 is an id that no string has */
static const uint8_t snapshot[] = { 0x0a, 0x0e, 0x08, 9,   0x12, 0x0a, 0x0a, 4,    0x08, 1,
				    0x10, 3,    0x0a, 2,   0x08, 2,    0x12, 9,    0x08, 1,
				    0x12, 5,    'r',  'o', 'u',  't',  'e',  0x12, 8,    0x08,
				    3,    0x12, 4,    '/', 'p',  'a',  'y' };

static void contexts_and_threads_are_labels(void **state)
{
	struct jfr_labels labels = { 0 };
	struct jfr_options opt = { .period_ns = 1, .threads = true, .labels = &labels };
	struct jfr_fixture f = { 0 };
	struct jfr_profiles r;
	struct profile_sample s;
	struct profile *p;

	assert_int_equal(jfr_labels_read(&labels, snapshot, sizeof(snapshot), 100, NULL), 0);
	jfr_fixture_sample(&f, JFR_FIXTURE_EXECUTION, 2, 1, 1, 0, 9);
	jfr_fixture_sample(&f, JFR_FIXTURE_EXECUTION, 1, 1, 1, 0, 8);
	jfr_fixture_end(&f);
	read_all(&r, &f, &opt);
	p = r.all[0].p;
	assert_int_equal(profile_n_samples(p), 2);
	s = profile_sample(p, 0);
	assert_int_equal(s.n_labels, 2);
	assert_string_equal(profile_string(p, s.labels[0].key), "route");
	assert_string_equal(profile_string(p, s.labels[0].str), "/pay");
	assert_string_equal(profile_string(p, s.labels[1].str), "worker");
	s = profile_sample(p, 1);
	assert_int_equal(s.n_labels, 1);
	assert_string_equal(profile_string(p, s.labels[0].str), "main");
	jfr_profiles_fini(&r);
	jfr_labels_fini(&labels);
	jfr_fixture_fini(&f);
}

static void the_codec_reads_all_kinds_as_one_profile(void **state)
{
	struct jfr_fixture f = { 0 };
	struct profile *p;

	jfr_fixture_setting(&f, 0, "interval", "10");
	sample(&f, JFR_FIXTURE_EXECUTION, 1, 0);
	sample(&f, JFR_FIXTURE_ALLOC, 1, 4096);
	sample(&f, JFR_FIXTURE_ALLOC, 3, 100);
	jfr_fixture_end(&f);
	assert_int_equal(jfr_detect(f.out.data, f.out.len), FORMAT_MATCH_CERTAIN);
	assert_int_equal(jfr_read(&p, f.out.data, f.out.len, NULL, NULL), 0);
	assert_int_equal(profile_n_sample_types(p), 3);
	expect_folded(p, 0, "a.B.root;a.B.leaf 10\n");
	expect_folded(p, 2, "a.B.root;a.B.leaf 4096\nsys_write_[k] 100\n");
	assert_string_equal(profile_string(p, profile_meta(p)->default_sample_type), "cpu");
	assert_int_equal(profile_meta(p)->duration_ns, 2000000000);
	profile_free(p);
	jfr_fixture_fini(&f);
}

static void expect_refused(const struct buf *data, int code, const char *words)
{
	struct jfr_options opt = { 0 };
	struct err err = { 0 };
	struct jfr_profiles r;

	assert_int_equal(jfr_read_profiles(&r, data->data, data->len, &opt, NULL, &err), code);
	if (!strstr(err.msg, words))
		fail_msg("\"%s\" instead of \"%s\"", err.msg, words);
}

static void bad_recordings_are_refused_with_the_reason(void **state)
{
	static const struct {
		size_t at;
		uint8_t byte;
		int code;
		const char *words;
	} cases[] = {
		{ 0, 'X', -EBADMSG, "header" },
		{ 5, 1, -ENOTSUP, "format 1.1 is not supported" },
		{ 8, 1, -EBADMSG, "incomplete recording" },
		{ 16, 1, -EBADMSG, "no metadata or constants" },
		{ 23, 68, -EBADMSG, "malformed constants" },
		{ 31, 69, -EBADMSG, "metadata" },
		{ 67, 0, -ENOTSUP, "uncompressed" },
		{ 68, 0, -EBADMSG, "malformed event" },
		{ 70, 0x80, -EBADMSG, "malformed jdk.ExecutionSample" },
	};
	struct jfr_fixture f = { 0 };

	sample(&f, JFR_FIXTURE_EXECUTION, 1, 0);
	jfr_fixture_end(&f);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t old = f.out.data[cases[i].at];

		f.out.data[cases[i].at] = cases[i].byte;
		expect_refused(&f.out, cases[i].code, cases[i].words);
		f.out.data[cases[i].at] = old;
	}
	jfr_fixture_fini(&f);
}

static void truncated_recordings_are_refused(void **state)
{
	struct jfr_fixture f = { 0 };
	size_t len;

	sample(&f, JFR_FIXTURE_EXECUTION, 1, 0);
	jfr_fixture_end(&f);
	len = f.out.len;
	for (f.out.len = 0; f.out.len < len; f.out.len++)
		expect_refused(&f.out, -EBADMSG, "");
	jfr_fixture_fini(&f);
}

/* An array of objects without bytes can claim any length. */
static void the_work_is_limited(void **state)
{
	struct jfr_fixture f = { 0 };

	sample(&f, JFR_FIXTURE_EXECUTION, 1, 0);
	/* the last byte of the payload is the length of an array of a.Empty: make it longer */
	f.events.len--;
	for (int i = 0; i < 8; i++)
		buf_put_byte(&f.events, 0xff);
	buf_put_byte(&f.events, 0x7f);
	f.events.data[0] += 8;
	jfr_fixture_end(&f);
	expect_refused(&f.out, -EBADMSG, "malformed jdk.ExecutionSample");
	jfr_fixture_fini(&f);
}

static void limits_are_respected(void **state)
{
	struct jfr_fixture f = { 0 };
	struct jfr_options opt = { .threads = true };
	struct codec_limits limits[5];
	struct jfr_profiles r;
	struct err err;

	sample(&f, JFR_FIXTURE_EXECUTION, 1, 0);
	sample(&f, JFR_FIXTURE_EXECUTION, 1, 0);
	jfr_fixture_end(&f);
	for (size_t i = 0; i < 5; i++)
		limits[i] = codec_limits_default();
	limits[0].samples = 1;
	limits[1].entries = 5;
	limits[2].depth = 1;
	limits[3].labels = 0;
	limits[4].bytes = 10;
	for (size_t i = 0; i < 5; i++) {
		err = (struct err){ 0 };
		assert_int_equal(
			jfr_read_profiles(&r, f.out.data, f.out.len, &opt, &limits[i], &err),
			-EFBIG);
		assert_true(err.msg[0]);
	}
	jfr_fixture_fini(&f);
}

TEST_GROUP(test_jfr_read, TEST(each_kind_is_a_profile_with_its_types),
	   TEST(frames_have_lines_and_kinds), TEST(wall_clock_samples_that_run_are_cpu_time_too),
	   TEST(the_period_is_that_of_the_samples_class), TEST(measured_cpu_time_replaces_samples),
	   TEST(chunks_are_added_up), TEST(contexts_and_threads_are_labels),
	   TEST(the_codec_reads_all_kinds_as_one_profile),
	   TEST(bad_recordings_are_refused_with_the_reason), TEST(truncated_recordings_are_refused),
	   TEST(the_work_is_limited), TEST(limits_are_respected))
