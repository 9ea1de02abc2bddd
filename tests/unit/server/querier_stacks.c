/* SPDX-License-Identifier: Apache-2.0 */
/* The expected responses are those recorded of a Pyroscope server with the same profiles. */
#include "server/querier.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/common/limits.h"
#include "codec/common/wire.h"
#include "codec/pprof/pprof.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

#define MERGE   QUERIER "SelectMergeStacktraces"
#define SHOP    CPU_QUERY("{service_name=\\\"shop\\\"}")
#define NOTHING "total:0/0/0\n"

/* Compares bars by name: the order of "names" is not part of the contract. */
static void expect_flame(struct scene *s, const char *method, const char *json, int n_sides,
			 const char *levels)
{
	_cleanup_(freep) char *got = NULL;

	assert_int_equal(scene_post(s, method, json), 200);
	got = scene_flame(s, n_sides);
	assert_string_equal(got, levels);
}

static void a_flame_graph_has_the_recorded_levels(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	expect_flame(&s, MERGE, "{" SHOP ",\"maxNodes\":8192}", 1,
		     "total:0/210000000/0\n"
		     "main:0/210000000/0\n"
		     "gc:0/10000000/10000000 serve:0/200000000/20000000\n"
		     "parse:30000000/70000000/70000000 query:0/110000000/60000000\n"
		     "lock:160000000/50000000/50000000\n");
	assert_non_null(
		strstr(scene_text(&s), "\"total\":\"210000000\",\"maxSelf\":\"70000000\"}}"));
	expect_flame(&s, MERGE, "{" SHOP ",\"maxNodes\":3}", 1,
		     "total:0/210000000/0\n"
		     "main:0/210000000/0\n"
		     "serve:0/200000000/20000000 other:0/10000000/10000000\n"
		     "query:20000000/110000000/60000000 other:0/70000000/70000000\n"
		     "other:80000000/50000000/50000000\n");
	expect_flame(&s, MERGE, "{" CPU_QUERY("{service_name=\\\"none\\\"}") "}", 1, NOTHING);
	assert_null(strstr(scene_text(&s), "\"total\":"));
	scene_end(&s);
}

static void a_call_site_selects_the_stacks_below_it(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	expect_flame(&s, MERGE,
		     "{" SHOP ",\"stackTraceSelector\":{\"callSite\":[{\"name\":\"main\"},"
		     "{\"name\":\"serve\"}]}}",
		     1,
		     "total:0/200000000/0\n"
		     "main:0/200000000/0\n"
		     "serve:0/200000000/20000000\n"
		     "parse:20000000/70000000/70000000 query:0/110000000/60000000\n"
		     "lock:150000000/50000000/50000000\n");
	expect_flame(&s, MERGE,
		     "{" SHOP ",\"stackTraceSelector\":{\"callSite\":[{\"name\":\"serve\"}]}}", 1,
		     NOTHING);
	/* a frame without a name matches no frame that has one */
	expect_flame(&s, MERGE, "{" SHOP ",\"stackTraceSelector\":{\"callSite\":[{}]}}", 1,
		     NOTHING);
	scene_end(&s);
}

static void a_tree_has_the_recorded_bytes(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	scene_expect(
		&s, MERGE, "{" SHOP ",\"format\":\"PROFILE_FORMAT_TREE\"}", 200,
		"{\"tree\":\"AAABBG1haW4AAgVzZXJ2ZYDaxAkCBXF1ZXJ5gI7OHAEEbG9ja4Dh6xcABXBhcnNlgLuw"
		"IQACZ2OAreIEAA==\"}");
	scene_refuses(&s, MERGE, "{" SHOP ",\"format\":\"PROFILE_FORMAT_DOT\"}", 501,
		      "unimplemented", "format");
	scene_refuses(&s, MERGE, "{" SHOP ",\"format\":9}", 501, "unimplemented", "format");
	scene_refuses(&s, MERGE, "{" SHOP ",\"format\":-1}", 501, "unimplemented", "format");
	scene_refuses(&s, MERGE, "{" SHOP ",\"format\":\"PNG\"}", 400, "invalid_argument",
		      "not valid JSON for this method");
	scene_end(&s);
}

static int64_t sum_of(const struct profile *p)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < profile_n_samples(p); i++)
		sum += profile_sample(p, i).values[0];
	return sum;
}

static void a_merged_profile_is_a_pprof(void **state)
{
	static const char *const proto[] = { "Content-Type: application/proto", NULL };
	const struct codec_limits limits = codec_limits_default();
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct buf rq = { 0 };
	struct scene s;

	scene_begin_with_data(&s, NULL);
	wire_put_bytes(&rq, 1, CPU_TYPE, strlen(CPU_TYPE));
	wire_put_bytes(&rq, 2, "{instance=\"a\"}", 14);
	wire_put_uint(&rq, 3, (DATA_S - 15) * 1000);
	wire_put_uint(&rq, 4, (DATA_S + 30) * 1000);
	assert_int_equal(
		scene_send(&s, "POST", QUERIER "SelectMergeProfile", proto, rq.data, rq.len), 200);
	assert_int_equal(pprof_read(&p, s.answer.body.data, s.answer.body.len, &limits, NULL), 0);
	assert_int_equal(profile_n_samples(p), 4);
	assert_int_equal(sum_of(p), 110000000);
	assert_string_equal(profile_string(p, profile_sample_type(p, 0).type), "cpu");
	buf_fini(&rq);
	/* the same in JSON, wrapped and not */
	assert_int_equal(scene_post(&s, QUERIER "SelectMergeProfile",
				    "{" CPU_QUERY("{instance=\\\"c\\\"}") "}"),
			 200);
	scene_begins(&s, "{\"sampleType\":[{\"type\":\"");
	assert_int_equal(
		scene_post(&s, MERGE,
			   "{" CPU_QUERY(
				   "{instance=\\\"c\\\"}") ",\"format\":\"PROFILE_FORMAT_PPROF\"}"),
		200);
	scene_begins(&s, "{\"pprof\":{\"profile\":{\"sampleType\":[{\"type\":\"");
	scene_end(&s);
}

static void a_diff_has_both_sides_in_each_bar(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	expect_flame(&s, QUERIER "Diff",
		     "{\"left\":{" CPU_QUERY("{instance=\\\"a\\\"}") "},\"right\":{" CPU_QUERY(
			     "{instance=\\\"b\\\"}") "}}",
		     2,
		     "total:0/110000000/0:0/100000000/0\n"
		     "main:0/110000000/0:0/100000000/0\n"
		     "gc:0/10000000/10000000:0/0/0 serve:0/100000000/20000000:0/100000000/0\n"
		     "parse:30000000/30000000/30000000:0/40000000/40000000 "
		     "query:0/50000000/0:0/60000000/60000000\n"
		     "lock:60000000/50000000/50000000:100000000/0/0\n");
	assert_non_null(strstr(scene_text(&s),
			       "\"total\":\"210000000\",\"maxSelf\":\"60000000\","
			       "\"leftTicks\":\"110000000\",\"rightTicks\":\"100000000\"}}"));
	scene_refuses(&s, QUERIER "Diff",
		      "{\"left\":{" SHOP "},\"right\":{\"profileTypeID\":\"a:b:c:d:e\","
		      "\"labelSelector\":\"{}\"," DATA_RANGE "}}",
		      400, "invalid_argument", "same profile type");
	scene_refuses(&s, QUERIER "Diff", "{\"left\":{" SHOP "}}", 400, "invalid_argument",
		      "start");
	scene_end(&s);
}

static void spans_and_traces_are_checked_and_no_span_means_all(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	scene_refuses(&s, QUERIER "SelectMergeSpanProfile",
		      "{" SHOP ",\"spanSelector\":[\"9a517183f26a089\"]}", 400, "invalid_argument",
		      "spanSelector");
	scene_refuses(&s, QUERIER "SelectMergeStacktraces",
		      "{" SHOP ",\"traceIdSelector\":[\"9a517183f26a089d\"]}", 400,
		      "invalid_argument", "traceIdSelector");
	scene_refuses(&s, QUERIER "SelectMergeStacktraces",
		      "{" SHOP ",\"spanSelector\":[\"9a517183f26a089d\"],"
		      "\"traceIdSelector\":[\"9a517183f26a089d9a517183f26a089d\"]}",
		      501, "unimplemented", "traceIdSelector");
	scene_refuses(&s, QUERIER "SelectMergeStacktraces", "{" SHOP ",\"groupBy\":[\"instance\"]}",
		      400, "invalid_argument", "groupBy");
	expect_flame(&s, QUERIER "SelectMergeStacktraces",
		     "{" SHOP ",\"maxNodes\":1,\"spanSelector\":[],\"traceIdSelector\":[]}", 1,
		     "total:0/210000000/0\n"
		     "main:0/210000000/0\n"
		     "other:0/210000000/210000000\n");
	expect_flame(&s, QUERIER "SelectMergeSpanProfile", "{" SHOP ",\"maxNodes\":1}", 1,
		     "total:0/210000000/0\n"
		     "main:0/210000000/0\n"
		     "other:0/210000000/210000000\n");
	scene_refuses(&s, QUERIER "SelectMergeSpanProfile", "{" SHOP ",\"maxNodes\":-1}", 400,
		      "invalid_argument", "maxNodes");
	scene_end(&s);
}

TEST_GROUP(test_querier_stacks, TEST(a_flame_graph_has_the_recorded_levels),
	   TEST(a_call_site_selects_the_stacks_below_it), TEST(a_tree_has_the_recorded_bytes),
	   TEST(a_merged_profile_is_a_pprof), TEST(a_diff_has_both_sides_in_each_bar),
	   TEST(spans_and_traces_are_checked_and_no_span_means_all))
