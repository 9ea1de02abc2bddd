/* SPDX-License-Identifier: Apache-2.0 */
/* GET /pyroscope/render and render-diff, with the responses recorded of a Pyroscope server. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "fixture.h"
#include "tests/test.h"

#define TYPE  "process_cpu%3Acpu%3Ananoseconds%3Acpu%3Ananoseconds"
#define SHOP  "query=" TYPE "%7Bservice_name%3D%22shop%22%7D"
#define RANGE "&from=1795199985&until=1795200030"

static const char *after(const struct scene *s, const char *words)
{
	const char *at = strstr(scene_text(s), words);

	if (!at)
		fail_msg("no %s in %s", words, scene_text(s));
	return at;
}

static void expect_flame(const struct scene *s, int n_sides, const char *levels)
{
	_cleanup_(freep) char *got = scene_flame(s, n_sides);

	assert_string_equal(got, levels);
}

static void one_query_gives_a_flame_graph_and_a_timeline(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	assert_int_equal(scene_get(&s, "/pyroscope/render?" SHOP RANGE "&format=json"), 200);
	expect_flame(&s, 1,
		     "total:0/210000000/0\n"
		     "main:0/210000000/0\n"
		     "gc:0/10000000/10000000 serve:0/200000000/20000000\n"
		     "parse:30000000/70000000/70000000 query:0/110000000/60000000\n"
		     "lock:160000000/50000000/50000000\n");
	scene_begins(&s, "{\"version\":1,\"flamebearer\":{");
	assert_string_equal(
		after(&s, "\"numTicks\""),
		"\"numTicks\":210000000,\"maxSelf\":70000000},"
		"\"metadata\":{\"format\":\"single\",\"spyName\":\"\","
		"\"sampleRate\":1000000000,\"units\":\"samples\",\"name\":\"cpu\"},"
		"\"timeline\":{\"startTime\":1795199985,\"samples\":[0,110000000,100000000],"
		"\"durationDelta\":15,\"watermarks\":null},\"groups\":null,\"heatmap\":null}");
	scene_end(&s);
}

static void groups_have_timelines_of_their_own(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	/* times may be milliseconds */
	assert_int_equal(scene_get(&s, "/pyroscope/render?" SHOP
				       "&from=1795199985000&until=1795200030000"
				       "&groupBy=instance&maxNodes=3"),
			 200);
	expect_flame(&s, 1,
		     "total:0/210000000/0\n"
		     "main:0/210000000/0\n"
		     "serve:0/200000000/20000000 other:0/10000000/10000000\n"
		     "query:20000000/110000000/60000000 other:0/70000000/70000000\n"
		     "other:80000000/50000000/50000000\n");
	assert_string_equal(
		after(&s, "\"timeline\""),
		"\"timeline\":{\"startTime\":1795199985,\"samples\":[0,0,0],\"durationDelta\":15,"
		"\"watermarks\":null},\"groups\":{"
		"\"a\":{\"startTime\":1795199985,\"samples\":[0,110000000,0],\"durationDelta\":15,"
		"\"watermarks\":null},"
		"\"b\":{\"startTime\":1795199985,\"samples\":[0,0,100000000],\"durationDelta\":15,"
		"\"watermarks\":null}},\"heatmap\":null}");
	scene_end(&s);
}

static void a_diff_compares_two_queries(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	assert_int_equal(
		scene_get(&s, "/pyroscope/render-diff?leftQuery=" TYPE
			      "%7Binstance%3D%22a%22%7D&leftFrom=1795199985&leftUntil=1795200030"
			      "&rightQuery=" TYPE "%7Binstance%3D%22b%22%7D&rightFrom=1795199985"
			      "&rightUntil=1795200030"),
		200);
	expect_flame(&s, 2,
		     "total:0/110000000/0:0/100000000/0\n"
		     "main:0/110000000/0:0/100000000/0\n"
		     "gc:0/10000000/10000000:0/0/0 serve:0/100000000/20000000:0/100000000/0\n"
		     "parse:30000000/30000000/30000000:0/40000000/40000000 "
		     "query:0/50000000/0:0/60000000/60000000\n"
		     "lock:60000000/50000000/50000000:100000000/0/0\n");
	after(&s, "\"format\":\"double\"");
	after(&s, "\"leftTicks\":110000000,\"rightTicks\":100000000}");
	assert_int_equal(scene_get(&s, "/pyroscope/render-diff?leftQuery=" TYPE
				       "&rightQuery=a%3Ab%3Ac%3Ad%3Ae"),
			 400);
	after(&s, "same profile type");
	assert_int_equal(scene_get(&s, "/pyroscope/render-diff?leftQuery=" TYPE), 400);
	after(&s, "rightQuery");
	scene_end(&s);
}

/* Clients convert values by these units. */
static void the_units_follow_from_the_type(void **state)
{
	static const struct {
		const char *type, *metadata;
	} cases[] = {
		{ "process_cpu%3Asamples%3Acount%3Acpu%3Ananoseconds",
		  "\"sampleRate\":100,\"units\":\"objects\",\"name\":\"samples\"" },
		{ "memory%3Ainuse_space%3Abytes%3A%3A",
		  "\"sampleRate\":100,\"units\":\"inuse_space\",\"name\":\"inuse_space\"" },
		{ "memory%3Aalloc_objects%3Acount%3A%3A",
		  "\"sampleRate\":100,\"units\":\"objects\",\"name\":\"alloc_objects\"" },
	};
	struct scene s;

	scene_begin(&s, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char path[256];

		snprintf(path, sizeof(path), "/pyroscope/render?query=%s" RANGE, cases[i].type);
		assert_int_equal(scene_get(&s, path), 200);
		after(&s, cases[i].metadata);
		expect_flame(&s, 1, "total:0/0/0\n");
	}
	scene_end(&s);
}

static void an_invalid_argument_is_refused(void **state)
{
	static const struct {
		const char *path, *words;
	} cases[] = {
		{ "/pyroscope/render?from=1795199985", "query" },
		{ "/pyroscope/render?query=", "query" },
		{ "/pyroscope/render?query=%7Bservice_name%3D%22shop%22%7D" RANGE, "profile type" },
		{ "/pyroscope/render?query=" TYPE "%7Bx" RANGE, "selector" },
		{ "/pyroscope/render?" SHOP RANGE "&maxNodes=many", "maxNodes" },
		{ "/pyroscope/render?" SHOP RANGE "&max-nodes=-1", "max-nodes" },
		{ "/pyroscope/render?" SHOP RANGE "&maxNodes=99999999999999999999", "maxNodes" },
		{ "/pyroscope/render?" SHOP "&from=1795200030&until=1795199985", "after" },
	};
	struct scene s;

	scene_begin_with_data(&s, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(scene_get(&s, cases[i].path), 400);
		after(&s, "{\"code\":\"invalid_argument\",\"message\":\"");
		after(&s, cases[i].words);
	}
	/* without times, the range is the last hour */
	assert_int_equal(scene_get(&s, "/pyroscope/render?" SHOP), 200);
	assert_int_equal(scene_post(&s, "/pyroscope/render?" SHOP, "{}"), 405);
	scene_end(&s);
}

TEST_GROUP(test_render, TEST(one_query_gives_a_flame_graph_and_a_timeline),
	   TEST(groups_have_timelines_of_their_own), TEST(a_diff_compares_two_queries),
	   TEST(the_units_follow_from_the_type), TEST(an_invalid_argument_is_refused))
