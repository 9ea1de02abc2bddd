/* SPDX-License-Identifier: Apache-2.0 */
/* SelectSeries and SelectHeatmap in JSON, over the three profiles of the fixture. */
#include "server/querier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "tests/test.h"

#define POINTS QUERIER "SelectSeries"
#define HEAT   QUERIER "SelectHeatmap"
#define ALL    CPU_QUERY("{}")
#define SHOP   CPU_QUERY("{service_name=\\\"shop\\\"}")

/* A point in a response; @seconds is counted from the first profile. */
#define POINT(value, ms) "{\"value\":" value ",\"timestamp\":\"" ms "\"}"
#define AT_0             "1795200000000"
#define AT_15            "1795200015000"

static void a_profile_counts_at_the_end_of_its_step(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	scene_expect(&s, POINTS, "{" SHOP ",\"step\":15}", 200,
		     "{\"series\":[{\"points\":[" POINT("110000000", AT_0) "," POINT("100000000",
										     AT_15) "]}]}");
	/* One step more than the range. */
	scene_expect(&s, POINTS, "{" SHOP ",\"step\":100}", 200,
		     "{\"series\":[{\"points\":[" POINT("210000000", "1795200085000") "]}]}");
	scene_end(&s);
}

static void averages_are_those_of_profiles(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	scene_expect(&s, POINTS,
		     "{" SHOP ",\"step\":100,"
		     "\"aggregation\":\"TIME_SERIES_AGGREGATION_TYPE_AVERAGE\"}",
		     200, "{\"series\":[{\"points\":[" POINT("105000000", "1795200085000") "]}]}");
	scene_expect(&s, POINTS, "{" SHOP ",\"step\":100,\"aggregation\":9}", 400,
		     "{\"code\":\"invalid_argument\","
		     "\"message\":\"\\\"aggregation\\\" must be SUM or AVERAGE\"}");
	scene_end(&s);
}

static void groups_have_their_labels_and_the_greatest_stays(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	scene_expect(
		&s, POINTS, "{" ALL ",\"step\":100,\"groupBy\":[\"service_name\",\"none\"]}", 200,
		"{\"series\":["
		"{\"labels\":[{\"name\":\"service_name\",\"value\":\"shop\"}],\"points\":[" POINT(
			"210000000", "1795200085000") "]},"
						      "{\"labels\":[{\"name\":\"service_name\","
						      "\"value\":\"mail\"}],\"points\":[" POINT(
							      "90000000", "1795200085000") "]}]}");
	scene_expect(
		&s, POINTS, "{" ALL ",\"step\":100,\"groupBy\":[\"service_name\"],\"limit\":\"1\"}",
		200,
		"{\"series\":["
		"{\"labels\":[{\"name\":\"service_name\",\"value\":\"shop\"}],\"points\":[" POINT(
			"210000000", "1795200085000") "]}]}");
	scene_end(&s);
}

static void a_call_site_selects_the_stacks_below_it(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	scene_expect(&s, POINTS,
		     "{" SHOP ",\"step\":100,\"stackTraceSelector\":{\"callSite\":"
		     "[{\"name\":\"main\"},{\"name\":\"gc\"}]}}",
		     200, "{\"series\":[{\"points\":[" POINT("10000000", "1795200085000") "]}]}");
	scene_end(&s);
}

static void steps_that_are_no_duration_are_refused(void **state)
{
	static const char *const steps[] = { "0", "-1", "0.0001", "1e9", "1e300" };
	static const char *const methods[] = { POINTS, HEAT };
	struct scene s;

	scene_begin_with_data(&s, NULL);
	for (size_t m = 0; m < 2; m++) {
		scene_refuses(&s, methods[m], "{" SHOP "}", 400, "invalid_argument",
			      "must be at least 0.001 s");
		for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
			char rq[400];

			snprintf(rq, sizeof(rq), "{" SHOP ",\"step\":%s}", steps[i]);
			scene_refuses(&s, methods[m], rq, 400, "invalid_argument",
				      "must be at least 0.001 s");
		}
	}
	/* The greatest step that is accepted. */
	assert_int_equal(scene_post(&s, HEAT, "{" SHOP ",\"step\":999999999}"), 200);
	/* More steps than one response may have. */
	scene_refuses(&s, POINTS, "{" SHOP ",\"step\":0.001}", 400, "invalid_argument", "");
	scene_end(&s);
}

static void nothing_is_an_empty_response(void **state)
{
	static const char rq[] = "{" CPU_QUERY("{service_name=\\\"none\\\"}") ",\"step\":15}";
	struct scene s;

	scene_begin_with_data(&s, NULL);
	scene_expect(&s, POINTS, rq, 200, "{}");
	scene_expect(&s, HEAT, rq, 200, "{}");
	/* The store does not know spans. */
	scene_refuses(&s, HEAT, "{" SHOP ",\"step\":15,\"queryType\":\"HEATMAP_QUERY_TYPE_SPAN\"}",
		      501, "unimplemented", "SPAN");
	scene_end(&s);
}

/* Fails unless the response has this text; *@at moves after it. */
static void next_is(const char **at, const char *text)
{
	const char *found = strstr(*at, text);

	if (!found)
		fail_msg("no \"%s\" in \"%s\"", text, *at);
	*at = found + strlen(text);
}

static void a_heat_map_has_rows_between_the_least_and_the_greatest_profile(void **state)
{
	struct scene s;
	const char *at;

	scene_begin_with_data(&s, NULL);
	assert_int_equal(
		scene_post(&s, HEAT, "{" ALL ",\"step\":15,\"groupBy\":[\"service_name\"]}"), 200);
	at = scene_text(&s);
	/* 90 to 110 ms in 20 rows: one of 1 ms for each. */
	next_is(&at, "{\"series\":[{\"labels\":[{\"name\":\"service_name\",\"value\":\"shop\"}]");
	next_is(&at, "{\"timestamp\":\"" AT_0 "\",\"yMin\":[90000000,91000000,");
	next_is(&at, "108000000,109000000],\"counts\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1]}");
	next_is(&at, "{\"timestamp\":\"" AT_15 "\"");
	next_is(&at, "\"counts\":[0,0,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0]}");
	next_is(&at, "\"value\":\"mail\"");
	next_is(&at, "\"counts\":[1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}]}]}");
	scene_end(&s);
}

TEST_GROUP(test_querier_points, TEST(a_profile_counts_at_the_end_of_its_step),
	   TEST(averages_are_those_of_profiles),
	   TEST(groups_have_their_labels_and_the_greatest_stays),
	   TEST(a_call_site_selects_the_stacks_below_it),
	   TEST(steps_that_are_no_duration_are_refused), TEST(nothing_is_an_empty_response),
	   TEST(a_heat_map_has_rows_between_the_least_and_the_greatest_profile))
