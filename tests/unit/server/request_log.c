/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of requests: the access log, slow queries, and histograms.
 *
 * covers: src/server/latency.c
 */
#include "server/request_log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json_read.h"
#include "fixture.h"
#include "server/api.h"
#include "server/counters.h"
#include "server/latency.h"
#include "tests/test.h"

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = calloc(1, 65536);

	assert_non_null(f);
	assert_non_null(text);
	assert_true(fread(text, 1, 65535, f) > 0);
	fclose(f);
	return text;
}

static char *log_of(bool json, const char *path_asked)
{
	char path[] = "/tmp/cameo-log-XXXXXX", *text;
	struct server_options opt = { .access_log = path, .access_log_json = json };
	struct scene s;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	scene_begin(&s, &opt);
	scene_get(&s, path_asked);
	scene_end(&s);
	text = read_file(path);
	unlink(path);
	return text;
}

static void a_line_is_escaped_and_bounded(void **state)
{
	_cleanup_(freep) char *text = log_of(false, "/a%22%0ab");
	char path[4096] = "/";
	_cleanup_(freep) char *longest = NULL;

	assert_non_null(strstr(text, " peer=127.0.0.1 method=GET path=\"/a\\\"\\nb\" status=404 "));
	assert_int_equal(strcspn(text, "\n"), strlen(text) - 1);
	memset(path + 1, 'x', sizeof(path) - 2);
	path[sizeof(path) - 1] = '\0';
	longest = log_of(false, path);
	assert_true(strlen(longest) < 1024);
}

static void a_line_of_json_is_an_object(void **state)
{
	_cleanup_(freep) char *text = log_of(true, "/ready");
	struct json_read j;
	int n = 0, r;

	json_read_init(&j, text, strlen(text));
	assert_int_equal(json_read_open(&j, '{'), 0);
	while ((r = json_read_key(&j)) > 0) {
		n++;
		assert_int_equal(json_read_skip(&j), 0);
	}
	assert_int_equal(r, 0);
	assert_int_equal(n, 8);
	json_read_fini(&j);
}

static void a_file_that_cannot_be_opened_is_named(void **state)
{
	struct counters counters = { 0 };
	const struct request_log_options opt = { "/no/such/directory/log", false, &counters };
	struct request_log *log = NULL;
	struct err err = { 0 };

	assert_int_equal(request_log_open(&log, &opt, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/no/such/directory/log"));
}

static void a_slow_query_has_its_question_and_what_it_read(void **state)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	const struct rpc rpc = { .api = api_find(api_lists, "/ready"),
				 .tenant = "shop",
				 .question = "cpu {a=\"b\"}",
				 .read = { 1, 2, 3, 4 } };

	request_log_describe(&rpc, 1500 * (int64_t)CLOCK_MS_NS, &b);
	buf_put_byte(&b, 0);
	assert_string_equal((const char *)b.data,
			    "slow_query=/ready seconds=1.500000 tenant=shop "
			    "question=\"cpu {a=\\\"b\\\"}\" series=1 profiles=2 nodes=3 samples=4");
}

static void a_histogram_counts_each_bound(void **state)
{
	_cleanup_(latency_freep) struct latency *l = NULL;
	_cleanup_(buf_fini) struct buf b = { 0 };
	const struct api_method *ready = api_find(api_lists, "/ready");
	const struct api_method elsewhere = { .path = "/elsewhere" };
	const char *text;

	assert_int_equal(latency_new(&l), 0);
	latency_add(l, ready, LATENCY_NONE, 1000000); /* at the first bound */
	latency_add(l, ready, LATENCY_NONE, 1000001); /* above it */
	latency_add(l, ready, LATENCY_NONE, INT64_MAX);
	latency_add(l, ready, LATENCY_NAMED, -5);
	latency_add(l, &elsewhere, LATENCY_NONE, 1);
	latency_put(l, &b);
	buf_put_byte(&b, 0);
	text = (const char *)b.data;
#define BUCKET "cameo_request_duration_seconds_bucket{endpoint=\"/ready\",tenants="
	assert_non_null(strstr(text, BUCKET "\"none\",le=\"0.001\"} 1\n"));
	assert_non_null(strstr(text, BUCKET "\"none\",le=\"0.005\"} 2\n"));
	assert_non_null(strstr(text, BUCKET "\"none\",le=\"30\"} 2\n"));
	assert_non_null(strstr(text, BUCKET "\"none\",le=\"+Inf\"} 3\n"));
	assert_non_null(strstr(text, BUCKET "\"named\",le=\"0.001\"} 1\n"));
	assert_null(strstr(text, "elsewhere"));
	assert_null(strstr(text, "\"default\""));
}

TEST_GROUP(test_request_log, TEST(a_line_is_escaped_and_bounded), TEST(a_line_of_json_is_an_object),
	   TEST(a_file_that_cannot_be_opened_is_named),
	   TEST(a_slow_query_has_its_question_and_what_it_read),
	   TEST(a_histogram_counts_each_bound))
