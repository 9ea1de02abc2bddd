/* SPDX-License-Identifier: Apache-2.0 */
/* Responses that are used again, and what excludes that. tests/server/results.py has threads. */
#include "server/query_results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fixture.h"
#include "tests/test.h"

#define MERGE  QUERIER "SelectMergeStacktraces"
#define SAMPLE 10000000 /* ns of a sample */
#define QUERY  "{" CPU_QUERY("{}") "}"

/* How many queries were answered with an earlier response. */
static unsigned long n_used(struct scene *s)
{
	static const char metric[] = "cameo_query_results_used_total{computed=\"before\"} ";
	const char *at;

	assert_int_equal(scene_get(s, "/metrics"), 200);
	at = strstr(scene_text(s), metric);
	assert_non_null(at);
	return strtoul(at + sizeof(metric) - 1, NULL, 10);
}

static void push(struct scene *s, int64_t time_s)
{
	char path[128];

	snprintf(path, sizeof(path), "/ingest?name=late.cpu&from=%lld&until=%lld",
		 (long long)time_s, (long long)time_s + 1);
	assert_int_equal(scene_send(s, "POST", path, NULL, "main 1\n", 7), 200);
}

static void an_equal_query_uses_the_response(void **state)
{
	_cleanup_(freep) char *first = NULL;
	struct scene s;

	scene_begin_with_data(&s, NULL);
	assert_int_equal(scene_post(&s, MERGE, QUERY), 200);
	first = strdup(scene_text(&s));
	assert_int_equal(n_used(&s), 0);
	assert_int_equal(scene_post(&s, MERGE, QUERY), 200);
	assert_string_equal(scene_text(&s), first);
	assert_int_equal(n_used(&s), 1);
	/* one with another body or of another method does not */
	assert_int_equal(scene_post(&s, MERGE, QUERY " "), 200);
	assert_int_equal(scene_post(&s, QUERIER "SelectMergeProfile", QUERY), 200);
	assert_int_equal(n_used(&s), 1);
	scene_end(&s);
}

static void an_error_is_not_retained(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	for (int i = 0; i < 3; i++)
		assert_int_equal(scene_post(&s, MERGE, "{}"), 400);
	assert_int_equal(n_used(&s), 0);
	scene_end(&s);
}

static void a_push_into_the_range_is_seen(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(scene_total(&s, "{}", DATA_RANGE), (30 + i) * SAMPLE);
		assert_int_equal(scene_total(&s, "{}", DATA_RANGE), (30 + i) * SAMPLE);
		push(&s, DATA_S + i);
	}
	assert_int_equal(scene_total(&s, "{}", DATA_RANGE), 35 * SAMPLE);
	assert_int_equal(n_used(&s), 5);
	scene_end(&s);
}

static void a_push_of_another_day_leaves_the_response(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	assert_int_equal(scene_total(&s, "{}", DATA_RANGE), 30 * SAMPLE);
	push(&s, DATA_S - 3 * 86400);
	assert_int_equal(scene_total(&s, "{}", DATA_RANGE), 30 * SAMPLE);
	assert_int_equal(n_used(&s), 1);
	scene_end(&s);
}

static void a_changed_file_is_noticed(void **state)
{
	char command[512];
	struct scene s;

	scene_begin_with_data(&s, NULL);
	assert_int_equal(scene_post(&s, MERGE, QUERY), 200);
	snprintf(command, sizeof(command), "rm %s/*/*.db", s.dir);
	assert_int_equal(system(command), 0);
	assert_int_equal(scene_post(&s, MERGE, QUERY), 500);
	assert_int_equal(n_used(&s), 0);
	scene_end(&s);
}

TEST_GROUP(test_query_results, TEST(an_equal_query_uses_the_response),
	   TEST(an_error_is_not_retained), TEST(a_push_into_the_range_is_seen),
	   TEST(a_push_of_another_day_leaves_the_response), TEST(a_changed_file_is_noticed))
