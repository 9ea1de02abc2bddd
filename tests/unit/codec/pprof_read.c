/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/pprof/pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/common/limits.h"
#include "codec/common/wire.h"
#include "codec/pprof/pprof_fields.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

static void assert_comes_back(struct profile *p)
{
	struct profile *back;
	struct buf b = { 0 };
	char *want, *got;

	assert_int_equal(pprof_write_gz(p, &b, NULL), 0);
	assert_int_equal(pprof_read(&back, b.data, b.len, NULL, NULL), 0);
	want = fixture_dump(p, FIXTURE_DUMP_KINDS);
	got = fixture_dump(back, FIXTURE_DUMP_KINDS);
	assert_string_equal(got, want);
	free(want);
	free(got);
	buf_fini(&b);
	profile_free(back);
}

static void a_written_profile_is_read_back(void **state)
{
	struct profile *p = fixture_small();

	assert_int_equal(profile_add_comment(p, "one"), 0);
	assert_int_equal(profile_add_comment(p, "two"), 0);
	profile_meta(p)->default_sample_type = fixture_string(p, "samples");
	profile_meta(p)->drop_frames = fixture_string(p, "drop");
	profile_meta(p)->keep_frames = fixture_string(p, "keep");
	profile_meta(p)->doc_url = fixture_string(p, "doc");
	assert_comes_back(p);
	profile_free(p);
}

static void random_profiles_are_read_back(void **state)
{
	for (uint32_t seed = 0; seed < 40; seed++) {
		const struct fixture_size size = {
			.n_samples = seed * 3,
			.n_functions = 1 + seed * 2,
			.n_mappings = seed % 7,
			.n_labels = seed % 5,
			.depth = 1 + seed,
		};
		struct profile *p = fixture_random(seed, &size);

		assert_comes_back(p);
		profile_free(p);
	}
}

/* A profile with one location of @file, which has the kind @kind. */
static struct profile *of_kind(const char *file, uint8_t kind)
{
	struct profile_line line = { 0 };
	struct profile_location l = { PROFILE_NONE, 0, kind, 1, &line };
	struct profile_function f = { 0 };
	struct profile_sample s = { .values = (const int64_t[]){ 1 } };
	struct profile *p;
	uint32_t id;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	assert_int_equal(profile_add_string(p, file, strlen(file), &f.file), 0);
	assert_int_equal(profile_add_function(p, &f, &line.function), 0);
	assert_int_equal(profile_add_location(p, &l, &id), 0);
	assert_int_equal(profile_add_stack(p, &id, 1, &s.stack), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
	return p;
}

static void kinds_that_files_do_not_show_are_written(void **state)
{
	static const struct {
		const char *file;
		uint8_t kind, read;
	} cases[] = {
		{ "<string>", PROFILE_FRAME_PYTHON, PROFILE_FRAME_PYTHON },
		{ "", PROFILE_FRAME_DOTNET, PROFILE_FRAME_DOTNET },
		{ "tool.py", PROFILE_FRAME_RUBY, PROFILE_FRAME_RUBY },
		{ "tool.py", PROFILE_FRAME_PYTHON, PROFILE_FRAME_PYTHON },
		{ "tool.py", PROFILE_FRAME_UNKNOWN, PROFILE_FRAME_PYTHON },
		{ "", PROFILE_FRAME_UNKNOWN, PROFILE_FRAME_UNKNOWN },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct profile *p = of_kind(cases[i].file, cases[i].kind), *back;
		struct buf b = { 0 };

		assert_int_equal(pprof_write(p, &b, NULL), 0);
		assert_int_equal(pprof_read(&back, b.data, b.len, NULL, NULL), 0);
		assert_int_equal(profile_location(back, 0).kind, cases[i].read);
		buf_fini(&b);
		profile_free(p);
		profile_free(back);
	}
}

static void assert_refused(const struct buf *b, const struct codec_limits *limits, int code,
			   const char *why)
{
	struct profile *p = NULL;
	struct err err = { 0 };

	assert_int_equal(pprof_read(&p, b->data, b->len, limits, &err), code);
	assert_string_equal(err.msg, why);
	assert_null(p);
}

/* Starts a message with one sample type and the strings "" and "x". */
static struct buf beginning(void)
{
	struct buf b = { 0 };

	wire_end(&b, wire_begin(&b, PPROF_SAMPLE_TYPE));
	wire_put_bytes(&b, PPROF_STRING_TABLE, "", 0);
	wire_put_bytes(&b, PPROF_STRING_TABLE, "x", 1);
	return b;
}

/* Adds a message of up to two numbers. */
static void put_pair(struct buf *b, uint32_t number, uint32_t f1, uint64_t v1, uint32_t f2,
		     uint64_t v2)
{
	size_t at = wire_begin(b, number);

	wire_put_uint(b, f1, v1);
	wire_put_uint(b, f2, v2);
	wire_end(b, at);
}

static void references_to_nothing_are_refused(void **state)
{
	static const struct {
		uint32_t table, f1, f2;
		uint64_t v1, v2;
		const char *why;
	} bad[] = {
		{ PPROF_SAMPLE, PPROF_SAMPLE_VALUE, PPROF_SAMPLE_LOCATION_ID, 1, 99,
		  "sample 0: location 99 does not exist" },
		{ PPROF_SAMPLE, PPROF_SAMPLE_LOCATION_ID, 9, 0, 1,
		  "sample 0: 0 values for 1 sample types" },
		{ PPROF_LOCATION, PPROF_LOCATION_ID, PPROF_LOCATION_MAPPING_ID, 1, 5,
		  "location 0: mapping 5 does not exist" },
		{ PPROF_LOCATION, PPROF_LOCATION_ADDRESS, 9, 1, 0, "location 0: id is 0" },
		{ PPROF_FUNCTION, PPROF_FUNCTION_ID, PPROF_FUNCTION_NAME, 1, 2,
		  "function 0: string 2 does not exist" },
		{ PPROF_MAPPING, PPROF_MAPPING_ID, PPROF_MAPPING_FILE, 1, UINT64_MAX,
		  "mapping 0: string 18446744073709551615 does not exist" },
		{ PPROF_SAMPLE_TYPE, PPROF_VALUE_TYPE_UNIT, 9, 7, 0,
		  "sample type 1: string 7 does not exist" },
		{ PPROF_PERIOD_TYPE, PPROF_VALUE_TYPE_UNIT, 9, 7, 0, "string 7 does not exist" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct buf b = beginning();

		put_pair(&b, bad[i].table, bad[i].f1, bad[i].v1, bad[i].f2, bad[i].v2);
		assert_refused(&b, NULL, -EBADMSG, bad[i].why);
		buf_fini(&b);
	}
}

static void duplicate_ids_are_refused(void **state)
{
	struct buf b = beginning();

	put_pair(&b, PPROF_FUNCTION, PPROF_FUNCTION_ID, 4, PPROF_FUNCTION_NAME, 1);
	put_pair(&b, PPROF_FUNCTION, PPROF_FUNCTION_ID, 4, PPROF_FUNCTION_NAME, 0);
	assert_refused(&b, NULL, -EBADMSG, "two functions have the id 4");
	buf_fini(&b);
}

static void a_first_string_that_is_not_empty_is_refused(void **state)
{
	struct buf b = { 0 };

	wire_put_bytes(&b, PPROF_STRING_TABLE, "x", 1);
	assert_refused(&b, NULL, -EBADMSG, "string table entry 0 is not empty");
	buf_fini(&b);
}

static void wrong_wire_types_are_refused(void **state)
{
	struct buf b = beginning();
	size_t at;

	wire_put_uint(&b, PPROF_SAMPLE, 1);
	assert_refused(&b, NULL, -EBADMSG, "field 2 is not a message");
	buf_fini(&b);
	b = beginning();
	wire_put_bytes(&b, PPROF_TIME_NANOS, "x", 1);
	assert_refused(&b, NULL, -EBADMSG, "field 9 is not a number");
	buf_fini(&b);
	b = beginning();
	at = wire_begin(&b, PPROF_LOCATION);
	wire_put_uint(&b, PPROF_LOCATION_ID, 1);
	wire_put_uint(&b, PPROF_LOCATION_LINE, 1);
	wire_end(&b, at);
	assert_refused(&b, NULL, -EBADMSG, "location 0: line is not a message");
	buf_fini(&b);
	b = beginning();
	at = wire_begin(&b, PPROF_FUNCTION);
	wire_put_bytes(&b, PPROF_FUNCTION_ID, "x", 1);
	wire_end(&b, at);
	assert_refused(&b, NULL, -EBADMSG, "function 0: field 1 is not a number");
	buf_fini(&b);
}

static void concatenated_profiles_are_refused(void **state)
{
	struct profile *p = fixture_small();
	struct buf b = { 0 };

	assert_int_equal(pprof_write_gz(p, &b, NULL), 0);
	assert_int_equal(pprof_write_gz(p, &b, NULL), 0);
	assert_refused(&b, NULL, -EBADMSG, "data contains more than one profile");
	buf_fini(&b);
	profile_free(p);
}

static void limits_are_enforced(void **state)
{
	static const struct {
		struct codec_limits at_most;
		const char *why;
	} cases[] = {
		{ { .bytes = 100 }, "profile exceeds the limit of 100 bytes" },
		{ { .strings = 3 }, "profile has more than 3 strings" },
		{ { .entries = 2 }, "profile has more than 2 mappings" },
		{ { .samples = 1 }, "profile has more than 1 samples" },
		{ { .depth = 2 }, "sample 1: more than 2 frames" },
		{ { .labels = 1 }, "sample 0: more than 1 labels" },
	};
	struct profile *p = fixture_small();
	struct buf b = { 0 };

	assert_int_equal(pprof_write(p, &b, NULL), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct codec_limits l = codec_limits_default();
		const struct codec_limits *m = &cases[i].at_most;

		l.bytes = m->bytes ? m->bytes : l.bytes;
		l.strings = m->strings ? m->strings : l.strings;
		l.entries = m->entries ? m->entries : l.entries;
		l.samples = m->samples ? m->samples : l.samples;
		l.depth = m->depth ? m->depth : l.depth;
		l.labels = m->labels ? m->labels : l.labels;
		assert_refused(&b, &l, -EFBIG, cases[i].why);
	}
	buf_fini(&b);
	profile_free(p);
}

/* Memory in use, in KiB; sanitizers count as well. */
static long max_rss(void)
{
	struct rusage u;

	assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
	return u.ru_maxrss;
}

static void empty_entries_cost_no_more_than_their_limit(void **state)
{
	static const struct {
		uint32_t field;
		int result;
		const char *why;
	} cases[] = {
		{ PPROF_SAMPLE, -EFBIG, "profile has more than 1000 samples" },
		{ PPROF_MAPPING, -EFBIG, "profile has more than 1000 mappings" },
		{ PPROF_LOCATION, -EFBIG, "profile has more than 1000 locations" },
		{ PPROF_FUNCTION, -EFBIG, "profile has more than 1000 functions" },
		{ PPROF_STRING_TABLE, -EFBIG, "profile has more than 1000 strings" },
		{ PPROF_SAMPLE_TYPE, -EFBIG, "profile has more than 64 sample types" },
		{ PPROF_COMMENT, -EFBIG, "profile has more than 4096 comments" },
		{ PPROF_PERIOD_TYPE, 0, "" },
		{ PPROF_DOC_URL, 0, "" },
	};
	enum { BYTES = 64 << 20 };
	struct codec_limits l = codec_limits_default();
	uint8_t *data = malloc(BYTES);
	long before;

	assert_non_null(data);
	l.strings = l.entries = l.samples = 1000;
	memset(data, 0, BYTES);
	before = max_rss();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct profile *p = NULL;
		struct err err = { 0 };
		bool is_number = cases[i].field == PPROF_COMMENT || cases[i].field == PPROF_DOC_URL;
		int r;

		/* A tag of one byte, and the length 0 or the number 0. */
		for (size_t k = 0; k < BYTES; k += 2)
			data[k] = (uint8_t)(cases[i].field << 3 |
					    (is_number ? WIRE_VARINT : WIRE_LEN));
		r = pprof_read(&p, data, BYTES, &l, &err);
		assert_string_equal(err.msg, cases[i].why);
		assert_int_equal(r, cases[i].result);
		profile_free(p);
	}
	assert_true(max_rss() - before < 32 << 10);
	free(data);
}

static void a_truncated_file_does_not_crash(void **state)
{
	struct profile *p = fixture_small(), *back;
	struct buf b = { 0 };

	assert_int_equal(pprof_write(p, &b, NULL), 0);
	for (size_t len = 0; len < b.len; len++) {
		/* a file that ends between two fields may still be a profile */
		if (pprof_read(&back, b.data, len, NULL, NULL) == 0)
			profile_free(back);
	}
	assert_int_equal(pprof_read(&back, b.data, b.len - 1, NULL, NULL), -EBADMSG);
	buf_fini(&b);
	profile_free(p);
}

TEST_GROUP(test_pprof_read, TEST(a_written_profile_is_read_back),
	   TEST(random_profiles_are_read_back), TEST(kinds_that_files_do_not_show_are_written),
	   TEST(references_to_nothing_are_refused), TEST(duplicate_ids_are_refused),
	   TEST(a_first_string_that_is_not_empty_is_refused), TEST(wrong_wire_types_are_refused),
	   TEST(concatenated_profiles_are_refused), TEST(limits_are_enforced),
	   TEST(empty_entries_cost_no_more_than_their_limit), TEST(a_truncated_file_does_not_crash))
