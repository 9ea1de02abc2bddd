/* SPDX-License-Identifier: Apache-2.0 */
/* The expected responses are those recorded of a Pyroscope server with the same profiles. */
#include "server/querier.h"

#include <string.h>

#include "fixture.h"
#include "tests/test.h"

#define L(name, value) "{\"name\":\"" name "\",\"value\":\"" value "\"}"

static void types_have_their_five_parts(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	scene_expect(&s, QUERIER "ProfileTypes", "{" DATA_RANGE "}", 200,
		     "{\"profileTypes\":[{\"ID\":\"" CPU_TYPE "\",\"name\":\"process_cpu\","
		     "\"sampleType\":\"cpu\",\"sampleUnit\":\"nanoseconds\",\"periodType\":\"cpu\","
		     "\"periodUnit\":\"nanoseconds\"},"
		     "{\"ID\":\"process_cpu:samples:count:cpu:nanoseconds\","
		     "\"name\":\"process_cpu\",\"sampleType\":\"samples\","
		     "\"sampleUnit\":\"count\",\"periodType\":\"cpu\","
		     "\"periodUnit\":\"nanoseconds\"}]}");
	/* only this method accepts a request without a range */
	scene_expect(&s, QUERIER "ProfileTypes", "{}", 200, "{}");
	scene_expect(&s, QUERIER "ProfileTypes", "{\"start\":1,\"end\":2}", 200, "{}");
	scene_refuses(&s, QUERIER "ProfileTypes", "{\"start\":2,\"end\":1}", 400,
		      "invalid_argument", "start");
	scene_end(&s);
}

static void names_and_values_are_sorted_and_restricted_by_matchers(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	scene_expect(&s, QUERIER "LabelNames", "{" DATA_RANGE "}", 200,
		     "{\"names\":[\"__name__\",\"__period_type__\",\"__period_unit__\","
		     "\"__profile_type__\",\"__service_name__\",\"__type__\",\"__unit__\","
		     "\"instance\",\"region\",\"service_name\"]}");
	scene_expect(&s, QUERIER "LabelValues", "{\"name\":\"service_name\"," DATA_RANGE "}", 200,
		     "{\"names\":[\"mail\",\"shop\"]}");
	scene_expect(&s, QUERIER "LabelValues",
		     "{\"name\":\"instance\",\"matchers\":[\"{region=\\\"eu\\\"}\","
		     "\"{service_name!=\\\"mail\\\"}\"]," DATA_RANGE "}",
		     200, "{\"names\":[\"a\"]}");
	scene_expect(&s, QUERIER "LabelValues", "{\"name\":\"nothing\"," DATA_RANGE "}", 200, "{}");
	scene_refuses(&s, QUERIER "LabelValues", "{" DATA_RANGE "}", 400, "invalid_argument",
		      "\\\"name\\\" is missing");
	scene_refuses(&s, QUERIER "LabelNames", "{}", 400, "invalid_argument", "missing");
	scene_end(&s);
}

static void series_are_distinct_sets_of_the_chosen_labels(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	scene_expect(
		&s, QUERIER "Series", "{\"labelNames\":[\"service_name\"]," DATA_RANGE "}", 200,
		"{\"labelsSet\":[{\"labels\":[" L(
			"service_name", "mail") "]},"
						"{\"labels\":[" L("service_name", "shop") "]}]}");
	scene_expect(
		&s, QUERIER "Series",
		"{\"matchers\":[\"{service_name=\\\"mail\\\",__type__=\\\"cpu\\\"}\"]," DATA_RANGE
		"}",
		200,
		"{\"labelsSet\":[{\"labels\":[" L("__name__", "process_cpu") "," L(
			"__period_type__",
			"cpu") "," L("__period_unit__",
				     "nanoseconds") "," L("__profile_type__",
							  CPU_TYPE) "," L("__service_name__",
									  "mail") "," L("__type__",
											"cpu") "," L("__unit__",
												     "nanoseconds") "," L("instance",
															  "c") "," L("region",
																     "eu") "," L("service_name",
																		 "mail") "]}]}");
	scene_end(&s);
}

/* An OTLP attribute becomes a label with a dot, which older clients cannot write in a selector. */
static void a_name_with_a_dot_is_sent_only_to_clients_that_accept_it(void **state)
{
	static const char *const accept[] = { "Content-Type: application/json",
					      "Accept: */*; allow-utf8-labelnames=true", NULL };
	static const char range[] = "{\"start\":1,\"end\":9000000000000}";
	struct scene s;

	scene_begin(&s, NULL);
	assert_int_equal(
		scene_send(&s, "POST", "/ingest?name=web%7Bhost.name%3Dn1%7D", NULL, "main 1\n", 7),
		200);
	assert_int_equal(scene_post(&s, QUERIER "LabelNames", range), 200);
	assert_null(strstr(scene_text(&s), "host.name"));
	assert_int_equal(scene_send(&s, "POST", QUERIER "LabelNames", accept, range, strlen(range)),
			 200);
	assert_non_null(strstr(scene_text(&s), "\"host.name\""));
	assert_int_equal(scene_post(&s, QUERIER "Series", range), 200);
	assert_null(strstr(scene_text(&s), "host.name"));
	assert_int_equal(scene_send(&s, "POST", QUERIER "Series", accept, range, strlen(range)),
			 200);
	assert_non_null(strstr(scene_text(&s), L("host.name", "n1")));
	scene_expect(&s, QUERIER "LabelValues",
		     "{\"name\":\"host.name\",\"start\":1,\"end\":9000000000000}", 200,
		     "{\"names\":[\"n1\"]}");
	scene_end(&s);
}

static void stats_are_the_first_and_the_last_time(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	scene_expect(&s, QUERIER "GetProfileStats", "{}", 200,
		     "{\"dataIngested\":true,\"oldestProfileTime\":\"1795200000000\","
		     "\"newestProfileTime\":\"1795200015000\"}");
	scene_end(&s);
	scene_begin(&s, NULL);
	scene_expect(&s, QUERIER "GetProfileStats", "{}", 200, "{}");
	scene_expect(&s, QUERIER "AnalyzeQuery", "{\"query\":\"x\"}", 200, "{}");
	scene_end(&s);
}

TEST_GROUP(test_querier_labels, TEST(types_have_their_five_parts),
	   TEST(names_and_values_are_sorted_and_restricted_by_matchers),
	   TEST(series_are_distinct_sets_of_the_chosen_labels),
	   TEST(a_name_with_a_dot_is_sent_only_to_clients_that_accept_it),
	   TEST(stats_are_the_first_and_the_last_time))
