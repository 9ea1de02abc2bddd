/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/url.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "tests/test.h"

enum { HOUR_MS = 3600 * 1000 };

static const int64_t NOW = 1790000000000;

static void times_are_relative_or_since_1970_or_dates(void **state)
{
	static const struct {
		const char *text;
		int64_t want;
	} good[] = {
		{ "now", 1790000000000 },
		{ "now-90m", 1790000000000 - 90 * 60000 },
		{ "now-2h", 1790000000000 - 2 * HOUR_MS },
		{ "1700000000", 1700000000000 },
		{ "1700000000123", 1700000000123 },
		{ "2023-11-14T22:13:20Z", 1700000000000 },
	};
	static const char *const bad[] = {
		"",       "then", "now-", "now-1",   "now-1y",
		"now+1h", "-5",   "1x",   "now-1h ", "2023-11-14T22:13:20"
	};
	int64_t ms;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(url_parse_time(good[i].text, NOW, &ms), 0);
		assert_int_equal(ms, good[i].want);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(url_parse_time(bad[i], NOW, &ms), -EINVAL);
}

static void a_server_is_queried_for_the_last_hour(void **state)
{
	static const char *const urls[] = { "http://h:1", "http://h:1/",
					    "http://h:1/?query=", "http://h:1/?from=now-1h" };
	struct url_query q;

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		assert_int_equal(url_parse_query(urls[i], NOW, &q, NULL), 0);
		assert_string_equal(q.base, "http://h:1");
		assert_string_equal(q.type, "process_cpu:cpu:nanoseconds:cpu:nanoseconds");
		assert_string_equal(q.selector, "{}");
		assert_string_equal(q.group_by, "");
		assert_int_equal(q.until_ms, NOW);
		assert_int_equal(q.from_ms, NOW - HOUR_MS);
	}
}

static void selector_and_range_are_decoded(void **state)
{
	struct url_query q;

	assert_int_equal(
		url_parse_query("https://h/tenant/?from=now-30m&query=memory:a:b:c:d%7Bx%3D%22"
				"1+%26%22}&until=now-10m&groupBy=pod",
				NOW, &q, NULL),
		0);
	assert_string_equal(q.base, "https://h/tenant");
	assert_string_equal(q.type, "memory:a:b:c:d");
	assert_string_equal(q.group_by, "pod");
	assert_string_equal(q.selector, "{x=\"1 &\"}");
	assert_int_equal(q.from_ms, NOW - HOUR_MS / 2);
	assert_int_equal(q.until_ms, NOW - 600 * 1000);
}

static void other_urls_are_fetched_unmodified(void **state)
{
	struct url_query q;

	assert_int_equal(
		url_parse_query("http://h:6060/debug/pprof/profile?seconds=1", NOW, &q, NULL),
		-ENOENT);
	assert_int_equal(url_parse_query("http://h/cpu.pb.gz", NOW, &q, NULL), -ENOENT);
	assert_true(url_is("https://h"));
	assert_false(url_is("http:h"));
	assert_false(url_is("file.pb.gz"));
}

static void malformed_queries_are_refused(void **state)
{
	char url[4096] = "http://h/?query=";
	struct url_query q;
	struct err err = { 0 };

	assert_int_equal(url_parse_query("http://h/?query=&from=then", NOW, &q, &err), -EINVAL);
	assert_string_equal(err.msg, "from=then: expected a time such as now-1h, "
				     "2026-11-21T08:00:00Z, or seconds since 1970");
	err = (struct err){ 0 };
	assert_int_equal(url_parse_query("http://h/?query=&from=now&until=now-1h", NOW, &q, &err),
			 -EINVAL);
	assert_string_equal(err.msg, "the time range is empty: from= must be before until=");
	memset(url + strlen(url), 'x', 2000);
	assert_int_equal(url_parse_query(url, NOW, &q, NULL), -EINVAL);
}

static void a_query_is_a_server_or_has_a_selector(void **state)
{
	assert_true(url_is_query("http://h:4040"));
	assert_true(url_is_query("http://h/?query={a=\"b\"}"));
	assert_true(
		url_is_query("http://h/?from=tomorrow")); /* malformed, which fetching reports */
	assert_false(url_is_query("http://h/debug/pprof/profile"));
	assert_false(url_is_query("h.pb.gz"));
	assert_false(url_is_query("-"));
}

TEST_GROUP(test_url, TEST(times_are_relative_or_since_1970_or_dates),
	   TEST(a_server_is_queried_for_the_last_hour), TEST(selector_and_range_are_decoded),
	   TEST(other_urls_are_fetched_unmodified), TEST(malformed_queries_are_refused),
	   TEST(a_query_is_a_server_or_has_a_selector))
