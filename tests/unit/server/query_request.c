/* SPDX-License-Identifier: Apache-2.0 */
/* The ranges, selectors and statuses are those recorded of a Pyroscope server. */
#include "server/query_request.h"

#include <string.h>

#include "fixture.h"
#include "tests/test.h"

#define MERGE  QUERIER "SelectMergeStacktraces"
#define TEN_MS 10000000

static void both_ends_of_a_range_are_included(void **state)
{
	static const struct {
		const char *range;
		int64_t samples;
	} cases[] = {
		{ "\"start\":1795200000000,\"end\":1795200000000", 11 },
		{ "\"start\":1795199985000,\"end\":1795200000000", 11 },
		{ "\"start\":1795199985000,\"end\":1795200014999", 11 },
		{ "\"start\":1795200015000,\"end\":1795200030000", 10 },
		{ "\"start\":1795200015001,\"end\":1795200030000", 0 },
		{ "\"start\":\"1795199985000\",\"end\":\"1795200030000\"", 21 },
	};
	struct scene s;

	scene_begin_with_data(&s, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(scene_total(&s, "{service_name=\\\"shop\\\"}", cases[i].range),
				 cases[i].samples * TEN_MS);
	scene_end(&s);
}

static void selectors_select_the_recorded_profiles(void **state)
{
	static const struct {
		const char *selector;
		int64_t samples;
	} cases[] = {
		{ "{}", 30 },
		{ "{instance=~\\\"a|b\\\"}", 21 },
		{ "{instance!=\\\"a\\\"}", 19 },
		{ "{instance!~\\\"a.*\\\"}", 19 },
		{ "{instance=~\\\"b\\\"}", 10 },
		{ "{instance=\\\"\\\"}", 0 },
		{ "{nosuch=\\\"\\\"}", 30 },
		{ "{\\\"service_name\\\"=\\\"shop\\\"}", 21 },
		{ "{instance=~\\\".*\\\"}", 30 },
		{ "{instance=~\\\"x\\\"}", 0 },
	};
	struct scene s;

	scene_begin_with_data(&s, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(scene_total(&s, cases[i].selector, DATA_RANGE),
				 cases[i].samples * TEN_MS);
	scene_end(&s);
}

static void an_invalid_query_is_refused_with_the_reason(void **state)
{
	static const struct {
		const char *json, *words;
	} cases[] = {
		{ "{" CPU_QUERY("") "}", "selector" },
		{ "{" CPU_QUERY("{service_name=") "}", "selector" },
		{ "{" CPU_QUERY("{service_name=~\\\"(\\\"}") "}", "" },
		{ "{\"labelSelector\":\"{}\"," DATA_RANGE "}", "profile type" },
		{ "{\"profileTypeID\":\"process_cpu\",\"labelSelector\":\"{}\"," DATA_RANGE "}",
		  "NAME:TYPE:UNIT:PERIOD_TYPE:PERIOD_UNIT" },
		{ "{\"profileTypeID\":\"a:b:c:d:e:f\",\"labelSelector\":\"{}\"," DATA_RANGE "}",
		  "NAME:TYPE:UNIT:PERIOD_TYPE:PERIOD_UNIT" },
		{ "{\"profileTypeID\":\"" CPU_TYPE "\",\"labelSelector\":\"{}\"}", "missing" },
		{ "{\"profileTypeID\":\"" CPU_TYPE "\",\"labelSelector\":\"{}\","
		  "\"start\":-5,\"end\":7}",
		  "missing" },
		{ "{\"profileTypeID\":\"" CPU_TYPE "\",\"labelSelector\":\"{}\","
		  "\"start\":8,\"end\":7}",
		  "is after" },
		{ "{\"profileTypeID\":\"" CPU_TYPE "\",\"labelSelector\":\"{}\","
		  "\"start\":8,\"end\":9223372036855}",
		  "out of range" },
		{ "{" CPU_QUERY("{}") ",\"maxNodes\":-1}", "maxNodes" },
		{ "{" CPU_QUERY("{}") ",\"maxNodes\":2000000}", "maxNodes" },
		{ "nope", "" },
	};
	struct scene s;

	scene_begin_with_data(&s, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		scene_refuses(&s, MERGE, cases[i].json, 400, "invalid_argument", cases[i].words);
	/* the suffix of a delta profile is accepted, and a type without profiles is not an error */
	scene_expect(&s, MERGE,
		     "{\"profileTypeID\":\"a:b:c:d:e:delta\",\"labelSelector\":\"{}\"," DATA_RANGE
		     "}",
		     200,
		     "{\"flamegraph\":{\"names\":[\"total\"],\"levels\":[{\"values\":[\"0\",\"0\","
		     "\"0\",\"0\"]}]}}");
	scene_end(&s);
}

static void no_more_than_64_selectors_are_accepted(void **state)
{
	struct buf b = { 0 };
	struct scene s;

	scene_begin_with_data(&s, NULL);
	for (int n = 64; n <= 65; n++) {
		b.len = 0;
		buf_put_str(&b, "{" DATA_RANGE ",\"name\":\"instance\",\"matchers\":[\"{}\"");
		for (int i = 1; i < n; i++)
			buf_put_str(&b, ",\"{}\"");
		buf_put(&b, "]}", 3);
		if (n == 64)
			scene_expect(&s, QUERIER "LabelValues", (const char *)b.data, 200,
				     "{\"names\":[\"a\",\"b\",\"c\"]}");
		else
			scene_refuses(&s, QUERIER "LabelValues", (const char *)b.data, 400,
				      "invalid_argument", "64");
	}
	buf_fini(&b);
	scene_end(&s);
}

static void the_servers_limit_of_the_range_is_enforced(void **state)
{
	const struct server_options opt = { .max_range_ns = 45001000000 };
	struct scene s;

	scene_begin_with_data(&s, &opt);
	assert_int_equal(scene_total(&s, "{}", DATA_RANGE), 30 * TEN_MS);
	scene_refuses(&s, MERGE,
		      "{\"profileTypeID\":\"" CPU_TYPE "\",\"labelSelector\":\"{}\","
		      "\"start\":1795199985000,\"end\":1795200030002}",
		      422, "invalid_argument", "range exceeds the limit");
	scene_end(&s);
}

/* A limit of 0 ms has passed when the query starts; one that is not a number is refused. */
static void the_clients_time_limit_is_used_if_it_is_shorter(void **state)
{
	static const char query[] = "{" CPU_QUERY("{}") "}";
	static const struct {
		const char *timeout;
		int status;
	} cases[] = { { "Connect-Timeout-Ms: 0", 504 },
		      { "Connect-Timeout-Ms: 9999999999", 200 },
		      { "Connect-Timeout-Ms: -1", 400 },
		      { "Connect-Timeout-Ms: 1s", 400 },
		      { "Connect-Timeout-Ms: 00000000000", 400 },
		      { "grpc-timeout: 0n", 504 },
		      { "grpc-timeout: 99999999H", 200 },
		      { "grpc-timeout: 123456789S", 400 },
		      { "grpc-timeout: 1", 400 },
		      { "grpc-timeout: 1x", 400 } };
	struct scene s;

	scene_begin_with_data(&s, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *headers[] = { "Content-Type: application/json", cases[i].timeout,
					  NULL };

		assert_int_equal(scene_send(&s, "POST", MERGE, headers, query, strlen(query)),
				 cases[i].status);
	}
	scene_end(&s);
}

static void only_one_label_groups_a_merged_profile(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	assert_int_equal(scene_post(&s, QUERIER "SelectMergeProfile",
				    "{" CPU_QUERY("{}") ",\"groupBy\":[\"instance\"]}"),
			 200);
	assert_non_null(strstr(scene_text(&s), "\"instance\""));
	scene_refuses(&s, QUERIER "SelectMergeProfile",
		      "{" CPU_QUERY("{}") ",\"groupBy\":[\"instance\",\"region\"]}", 400,
		      "invalid_argument", "one label");
	scene_end(&s);
}

TEST_GROUP(test_query_request, TEST(both_ends_of_a_range_are_included),
	   TEST(selectors_select_the_recorded_profiles),
	   TEST(an_invalid_query_is_refused_with_the_reason),
	   TEST(no_more_than_64_selectors_are_accepted),
	   TEST(the_servers_limit_of_the_range_is_enforced),
	   TEST(the_clients_time_limit_is_used_if_it_is_shorter),
	   TEST(only_one_label_groups_a_merged_profile))
