/* SPDX-License-Identifier: Apache-2.0 */
/* POST /ingest; requests and their effects were recorded of a Pyroscope server. */
#include <stdio.h>
#include <string.h>

#include "../store/fixture.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/common/gzip.h"
#include "codec/pprof/pprof.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"
#include "tests/unit/codec/jfr_fixture.h"

#define RANGE "\"start\":1,\"end\":9000000000000"

static int ingest(struct scene *s, const char *args, const char *body)
{
	char path[256];

	snprintf(path, sizeof(path), "/ingest?%s", args);
	return scene_send(s, "POST", path, NULL, body, strlen(body));
}

static void expect_flame(struct scene *s, const char *type, const char *selector,
			 const char *levels)
{
	_cleanup_(freep) char *got = NULL;
	char json[400];

	snprintf(json, sizeof(json),
		 "{\"profileTypeID\":\"%s\",\"labelSelector\":\"%s\"," RANGE "}", type, selector);
	assert_int_equal(scene_post(s, QUERIER "SelectMergeStacktraces", json), 200);
	got = scene_flame(s, 1);
	assert_string_equal(got, levels);
}

static void folded_stacks_become_time_by_the_sample_rate(void **state)
{
	struct scene s;

	scene_begin(&s, NULL);
	assert_int_equal(ingest(&s, "name=ing%7Bregion%3Deu%7D&sampleRate=100&spyName=x",
				"main;a;b 3\nmain;a 2\n"),
			 200);
	assert_string_equal(scene_text(&s), "");
	expect_flame(&s, CPU_TYPE, "{service_name=\\\"ing\\\",region=\\\"eu\\\"}",
		     "total:0/50000000/0\n"
		     "main:0/50000000/0\n"
		     "a:0/50000000/20000000\n"
		     "b:20000000/30000000/30000000\n");
	assert_int_equal(scene_total(&s, "{pyroscope_spy=\\\"x\\\"}", RANGE), 50000000);
	/* each line of format=lines counts 1; the default rate is 100 Hz */
	assert_int_equal(ingest(&s, "name=lines&format=lines", "main;a\nmain;a\nmain;c\n"), 200);
	assert_int_equal(scene_total(&s, "{service_name=\\\"lines\\\"}", RANGE), 30000000);
	assert_int_equal(scene_total(&s, "{pyroscope_spy=\\\"unknown\\\"}", RANGE), 30000000);
	scene_end(&s);
}

static void the_last_part_of_the_name_is_the_type(void **state)
{
	struct scene s;

	scene_begin(&s, NULL);
	assert_int_equal(ingest(&s, "name=mem.inuse_space&units=bytes", "main;alloc 4096\n"), 200);
	expect_flame(&s, "memory:inuse_space:bytes::", "{service_name=\\\"mem\\\"}",
		     "total:0/4096/0\nmain:0/4096/0\nalloc:0/4096/4096\n");
	assert_int_equal(ingest(&s, "name=my.app.cpu&sampleRate=10", "main 1\n"), 200);
	assert_int_equal(scene_total(&s, "{service_name=\\\"my.app\\\"}", RANGE), 100000000);
	/* locks are in the units that the client names */
	assert_int_equal(ingest(&s, "name=my.mutex_duration&units=microseconds", "main 7\n"), 200);
	expect_flame(&s, "mutex:delay:nanoseconds::", "{}", "total:0/7000/0\nmain:0/7000/7000\n");
	assert_int_equal(ingest(&s, "name=ing.web.app", "main;a;b 3\n"), 400);
	assert_non_null(
		strstr(scene_text(&s), "cannot determine the profile type of \\\"ing.web.app\\\""));
	scene_end(&s);
}

static void nothing_to_store_is_accepted(void **state)
{
	struct scene s;

	scene_begin(&s, NULL);
	assert_int_equal(ingest(&s, "name=empty", ""), 200);
	assert_int_equal(ingest(&s, "name=nocount", "main;a;b\n"), 200);
	assert_int_equal(scene_total(&s, "{}", RANGE), 0);
	scene_end(&s);
}

static void an_invalid_request_is_refused_with_the_reason(void **state)
{
	static const struct {
		const char *args, *body, *words;
		int status;
	} cases[] = {
		{ "", "main 1\n", "\\\"name\\\" is missing", 400 },
		{ "name=", "main 1\n", "\\\"name\\\" is missing", 400 },
		{ "name=%7Ba%3Db%7D", "main 1\n", "no application name", 400 },
		{ "name=x%7Bab%7D", "main 1\n", "NAME=VALUE", 400 },
		{ "name=x%7B%3Dv%7D", "main 1\n", "a label has no name", 400 },
		{ "name=x%7Ba%3D1,a%3D2%7D", "main 1\n", "two different values", 400 },
		{ "name=x&sampleRate=-1", "main 1\n", "sampleRate", 400 },
		{ "name=x&sampleRate=1000001", "main 1\n", "sampleRate", 400 },
		{ "name=x&sampleRate=1", "main 9223372036854775807\n", "64 bits", 422 },
		{ "name=x&format=wav", "main 1\n", "unknown format", 400 },
		{ "name=x&format=jfr", "JFR", "Flight Recorder", 422 },
		{ "name=x&format=jfr&sampleRate=-1", "JFR", "sampleRate", 400 },
		{ "name=x&format=pprof", "this is not a pprof", "", 422 },
		{ "name=x&format=speedscope", "zzz", "", 422 },
		{ "name=x&format=multipart", "zzz", "no part", 422 },
	};
	struct scene s;

	scene_begin(&s, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int status = ingest(&s, cases[i].args, cases[i].body);

		if (status != cases[i].status || !strstr(scene_text(&s), cases[i].words))
			fail_msg("%s: %d %s", cases[i].args, status, scene_text(&s));
	}
	assert_int_equal(scene_total(&s, "{}", RANGE), 0);
	scene_end(&s);
}

static void put_pprof(struct buf *out)
{
	_cleanup_(profile_freep) struct profile *p = fixture_profile("main;work 3\nmain 2\n");

	assert_int_equal(pprof_write_gz(p, out, NULL), 0);
}

static void a_pprof_keeps_its_own_types(void **state)
{
	struct buf pprof = { 0 };
	struct scene s;

	scene_begin(&s, NULL);
	put_pprof(&pprof);
	assert_int_equal(scene_send(&s, "POST", "/pyroscope/ingest?name=raw&format=pprof", NULL,
				    pprof.data, pprof.len),
			 200);
	expect_flame(&s, "process_cpu:samples:count:cpu:nanoseconds", "{service_name=\\\"raw\\\"}",
		     "total:0/5/0\nmain:0/5/2\nwork:2/3/3\n");
	assert_int_equal(scene_total(&s, "{service_name=\\\"raw\\\"}", RANGE), 50000000);
	scene_end(&s);
	buf_fini(&pprof);
}

/* pyroscope-go sends a rate of 0, and empty arguments, with all profiles that are not of CPU time.
 */
static void a_rate_of_0_is_no_rate(void **state)
{
	struct buf pprof = { 0 };
	struct scene s;

	scene_begin(&s, NULL);
	put_pprof(&pprof);
	assert_int_equal(
		scene_send(&s, "POST",
			   "/ingest?name=raw&format=pprof&sampleRate=0&units=&aggregationType=",
			   NULL, pprof.data, pprof.len),
		200);
	assert_int_equal(scene_total(&s, "{service_name=\\\"raw\\\"}", RANGE), 50000000);
	assert_int_equal(ingest(&s, "name=text&sampleRate=0", "main 1\n"), 200);
	assert_int_equal(scene_total(&s, "{service_name=\\\"text\\\"}", RANGE), 10000000);
	scene_end(&s);
	buf_fini(&pprof);
}

static void put_part(struct buf *form, const char *name, const void *data, size_t len)
{
	buf_printf(form,
		   "--B\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\n\r\n",
		   name, name);
	buf_put(form, data, len);
	buf_put_str(form, "\r\n");
}

static int send_form(struct scene *s, const char *config)
{
	static const char *const headers[] = { "Content-Type: multipart/form-data; boundary=B",
					       NULL };
	_cleanup_(buf_fini) struct buf form = { 0 }, pprof = { 0 };

	put_pprof(&pprof);
	put_part(&form, "profile", pprof.data, pprof.len);
	if (config)
		put_part(&form, "sample_type_config", config, strlen(config));
	buf_put_str(&form, "--B--\r\n");
	return scene_send(s, "POST", "/ingest?name=form", headers, form.data, form.len);
}

static void display_names_of_a_form_choose_the_name_only(void **state)
{
	struct scene s;

	scene_begin(&s, NULL);
	assert_int_equal(send_form(&s, NULL), 200);
	assert_int_equal(scene_total(&s, "{service_name=\\\"form\\\"}", RANGE), 50000000);
	assert_int_equal(send_form(&s, "{\"samples\":{\"units\":\"things\",\"aggregation\":\"sum\","
				       "\"display-name\":\"hits\",\"sampled\":true},\"no\":{}}"),
			 200);
	expect_flame(&s, "process_cpu:samples:count:cpu:nanoseconds", "{}",
		     "total:0/10/0\nmain:0/10/4\nwork:4/6/6\n");
	/* as pyroscope-go configures goroutines */
	assert_int_equal(send_form(&s, "{\"samples\":{\"units\":\"goroutines\","
				       "\"display-name\":\"goroutines\"}}"),
			 200);
	expect_flame(&s, "goroutines:samples:count:cpu:nanoseconds", "{}",
		     "total:0/5/0\nmain:0/5/2\nwork:2/3/3\n");
	assert_int_equal(send_form(&s, "{\"samples\":{\"display-name\":\"mutex_count\"}}"), 200);
	expect_flame(&s, "mutex:samples:count:cpu:nanoseconds", "{}",
		     "total:0/5/0\nmain:0/5/2\nwork:2/3/3\n");
	assert_int_equal(send_form(&s, "[]"), 422);
	assert_int_equal(send_form(&s, "{\"samples\":{"), 422);
	assert_non_null(strstr(scene_text(&s), "sample_type_config"));
	scene_end(&s);
}

static void make_recording(struct jfr_fixture *f)
{
	jfr_fixture_setting(f, 0, "event", "itimer");
	jfr_fixture_sample(f, JFR_FIXTURE_EXECUTION, 1, 1, 1, 0, 9);
	jfr_fixture_sample(f, JFR_FIXTURE_EXECUTION, 1, 1, 1, 0, 0);
	jfr_fixture_sample(f, JFR_FIXTURE_ALLOC, 1, 1, 1, 4096, 0);
	jfr_fixture_end(f);
}

static void a_recording_becomes_a_profile_of_each_kind(void **state)
{
	struct jfr_fixture f = { 0 };
	struct scene s;

	scene_begin(&s, NULL);
	make_recording(&f);
	assert_int_equal(scene_send(&s, "POST", "/ingest?name=shop&format=jfr&sampleRate=100", NULL,
				    f.out.data, f.out.len),
			 200);
	expect_flame(&s, "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
		     "{service_name=\\\"shop\\\",jfr_event=\\\"itimer\\\"}",
		     "total:0/20000000/0\na.B.root:0/20000000/0\na.B.leaf:0/20000000/20000000\n");
	expect_flame(&s, "memory:alloc_in_new_tlab_bytes:bytes:space:bytes", "{}",
		     "total:0/4096/0\na.B.root:0/4096/0\na.B.leaf:0/4096/4096\n");
	scene_end(&s);
	jfr_fixture_fini(&f);
}

/* The labels of context 9 in the form: route=/pay. */
static const uint8_t contexts[] = { 0x0a, 0x0a, 0x08, 9,    0x12, 0x06, 0x0a, 4,   0x08, 1,   0x10,
				    3,    0x12, 9,    0x08, 1,    0x12, 5,    'r', 'o',  'u', 't',
				    'e',  0x12, 8,    0x08, 3,    0x12, 4,    '/', 'p',  'a', 'y' };

static int send_recording(struct scene *s, const char *part, bool compressed)
{
	static const char *const headers[] = { "Content-Type: multipart/form-data; boundary=B",
					       NULL };
	_cleanup_(buf_fini) struct buf form = { 0 }, jfr = { 0 }, labels = { 0 };
	_cleanup_(jfr_fixture_fini) struct jfr_fixture f = { 0 };

	make_recording(&f);
	if (compressed) {
		assert_int_equal(gzip_write(f.out.data, f.out.len, 1, &jfr, NULL), 0);
		assert_int_equal(gzip_write(contexts, sizeof(contexts), 1, &labels, NULL), 0);
	} else {
		buf_put(&jfr, f.out.data, f.out.len);
		buf_put(&labels, contexts, sizeof(contexts));
	}
	put_part(&form, part, jfr.data, jfr.len);
	put_part(&form, "labels", labels.data, labels.len);
	buf_put_str(&form, "--B--\r\n");
	return scene_send(s, "POST", "/ingest?name=form&format=jfr&sampleRate=100", headers,
			  form.data, form.len);
}

static void a_form_has_the_labels_of_contexts(void **state)
{
	struct scene s;

	scene_begin(&s, NULL);
	assert_int_equal(send_recording(&s, "jfr", false), 200);
	assert_int_equal(send_recording(&s, "jfr", true), 200);
	assert_int_equal(scene_total(&s, "{route=\\\"/pay\\\"}", RANGE), 20000000);
	assert_int_equal(scene_total(&s, "{service_name=\\\"form\\\"}", RANGE), 40000000);
	assert_int_equal(send_recording(&s, "recording", true), 422);
	assert_non_null(strstr(scene_text(&s), "no part \\\"jfr\\\""));
	scene_end(&s);
}

static void a_recording_without_samples_is_accepted(void **state)
{
	struct jfr_fixture f = { 0 };
	struct scene s;

	scene_begin(&s, NULL);
	jfr_fixture_end(&f);
	assert_int_equal(
		scene_send(&s, "POST", "/ingest?name=shop&format=jfr", NULL, f.out.data, f.out.len),
		200);
	scene_end(&s);
	jfr_fixture_fini(&f);
}

TEST_GROUP(test_ingest_http, TEST(folded_stacks_become_time_by_the_sample_rate),
	   TEST(the_last_part_of_the_name_is_the_type), TEST(nothing_to_store_is_accepted),
	   TEST(an_invalid_request_is_refused_with_the_reason), TEST(a_pprof_keeps_its_own_types),
	   TEST(a_rate_of_0_is_no_rate), TEST(display_names_of_a_form_choose_the_name_only),
	   TEST(a_recording_becomes_a_profile_of_each_kind),
	   TEST(a_form_has_the_labels_of_contexts), TEST(a_recording_without_samples_is_accepted))
