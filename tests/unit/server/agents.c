/* SPDX-License-Identifier: Apache-2.0 */
#include "server/agents.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "fixture.h"
#include "net/feed.h"
#include "server/server.h"
#include "tests/test.h"

#define AGENTS "/api/v1/agents"

/* Removes the time of arrival, which differs each time. */
static void assert_agents(struct scene *s, const char *expected)
{
	struct buf got = { 0 };
	const char *from, *at;

	assert_int_equal(scene_get(s, AGENTS), 200);
	from = scene_text(s);
	while ((at = strstr(from, "\"receivedAt\":"))) {
		buf_put(&got, from, (size_t)(at - from));
		from = strchr(at, ',') + 1;
	}
	buf_put(&got, from, strlen(from) + 1);
	assert_string_equal((const char *)got.data, expected);
	buf_fini(&got);
}

static void the_last_report_of_each_agent_is_listed(void **state)
{
	struct scene s;

	scene_begin(&s, NULL);
	assert_agents(&s, "{\"agents\":[]}");
	scene_expect(&s, AGENTS,
		     "{\"agent\":\"n2\",\"time\":5,\"labels\":{\"host.name\":\"n2\"},"
		     "\"values\":{\"cpu\":0.5,\"lost\":3,\"big\":9007199254740991},"
		     "\"newer\":[{\"x\":null}]}",
		     200, "{}");
	scene_expect(&s, AGENTS, "{\"agent\":\"n1\",\"time\":1}", 200, "{}");
	scene_expect(&s, AGENTS, "{\"agent\":\"n1\",\"time\":2,\"labels\":null}", 200, "{}");
	assert_agents(&s, "{\"agents\":[{\"agent\":\"n1\",\"time\":2,\"labels\":{},\"values\":{}},"
			  "{\"agent\":\"n2\",\"time\":5,\"labels\":{\"host.name\":\"n2\"},"
			  "\"values\":{\"cpu\":0.5,\"lost\":3,\"big\":9007199254740991}}]}");
	scene_end(&s);
}

static void a_tenant_sees_only_its_own_agents(void **state)
{
	static const char *const shop[] = { "X-Scope-OrgID: shop", NULL };
	static const char *const mail[] = { "X-Scope-OrgID: mail", NULL };
	static const char report[] = "{\"agent\":\"n1\",\"time\":1}";
	const struct server_options opt = { .tenants = true };
	struct scene s;

	scene_begin(&s, &opt);
	assert_int_equal(scene_send(&s, "POST", AGENTS, shop, report, strlen(report)), 200);
	assert_int_equal(scene_send(&s, "GET", AGENTS, shop, NULL, 0), 200);
	assert_non_null(strstr(scene_text(&s), "\"n1\""));
	assert_int_equal(scene_send(&s, "GET", AGENTS, mail, NULL, 0), 200);
	assert_string_equal(scene_text(&s), "{\"agents\":[]}");
	scene_end(&s);
}

static void an_invalid_report_is_refused_with_the_reason(void **state)
{
	static const struct {
		const char *report, *words;
	} cases[] = {
		{ "", "not valid JSON" },
		{ "[]", "not valid JSON" },
		{ "{\"agent\":\"n\"} x", "not valid JSON" },
		{ "{\"agent\":7}", "not valid JSON" },
		{ "{}", "\\\"agent\\\" is missing" },
		{ "{\"agent\":\"\"}", "1 to 256 bytes" },
		{ "{\"agent\":\"a\\u0000b\"}", "without NUL" },
		{ "{\"agent\":\"n\",\"time\":-1}", "milliseconds since 1970" },
		{ "{\"agent\":\"n\",\"time\":1e300}", "milliseconds since 1970" },
		{ "{\"agent\":\"n\",\"labels\":{\"a\":1}}", "not valid JSON" },
		{ "{\"agent\":\"n\",\"values\":{\"a\":\"1\"}}", "not valid JSON" },
		{ "{\"agent\":\"n\",\"values\":{\"a\\u0000\":1}}", "name of a label or value" },
	};
	struct scene s;

	scene_begin(&s, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		scene_refuses(&s, AGENTS, cases[i].report, 400, "invalid_argument", cases[i].words);
	assert_agents(&s, "{\"agents\":[]}");
	scene_end(&s);
}

/* A report with @n members of @list, the first of which has a name of @name_len bytes. */
static void make_report(struct buf *b, const char *list, int n, int name_len, const char *value)
{
	b->len = 0;
	buf_printf(b, "{\"agent\":\"n\",\"%s\":{\"%0*d\":%s", list, name_len, 0, value);
	for (int i = 1; i < n; i++)
		buf_printf(b, ",\"%d\":%s", i, value);
	buf_put(b, "}}", 3);
	b->len--;
}

static void each_limit_is_inclusive(void **state)
{
	static const struct {
		const char *list, *value;
		int n, name_len, status;
	} cases[] = {
		{ "labels", "\"v\"", AGENTS_MAX_LABELS, 1, 200 },
		{ "labels", "\"v\"", AGENTS_MAX_LABELS + 1, 1, 400 },
		{ "values", "1", AGENTS_MAX_VALUES, 1, 200 },
		{ "values", "1", AGENTS_MAX_VALUES + 1, 1, 400 },
		{ "labels", "\"v\"", 1, 256, 200 },
		{ "labels", "\"v\"", 1, 257, 400 },
		/* a report of more than AGENTS_MAX_REPORT bytes */
		{ "other", "1", 1, AGENTS_MAX_REPORT, 413 },
	};
	struct buf b = { 0 };
	struct scene s;

	scene_begin(&s, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_report(&b, cases[i].list, cases[i].n, cases[i].name_len, cases[i].value);
		assert_int_equal(scene_post(&s, AGENTS, (const char *)b.data), cases[i].status);
	}
	scene_end(&s);
	buf_fini(&b);
}

static void *feed_server(void *arg)
{
	struct scene *s = ((void **)arg)[0];

	assert_int_equal(server_feed(s->server, *(int *)((void **)arg)[1]), 0);
	return NULL;
}

/* A report of about 60 kB, so that some 550 reach the limit of memory. */
static size_t make_large_report(struct buf *b, int i)
{
	b->len = 0;
	buf_printf(b, "{\"agent\":\"a%04d\",\"labels\":{", i);
	for (int k = 0; k < 60; k++)
		buf_printf(b, "%s\"l%d\":\"%01000d\"", k ? "," : "", k, 0);
	buf_put_str(b, "}}");
	assert_int_equal(buf_error(b), 0);
	return b->len;
}

/*
 * Feeds the reports as the local agent does. Their names fall, so that the first is the greatest.
 */
static void beyond_the_limit_the_oldest_reports_are_dropped(void **state)
{
	const int n = AGENTS_MAX_BYTES / 60000 + 100;
	struct feed_answer answer;
	struct buf b = { 0 };
	pthread_t thread;
	struct scene s;
	int fd[2];

	scene_begin(&s, NULL);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_int_equal(pthread_create(&thread, NULL, feed_server, (void *[]){ &s, &fd[1] }), 0);
	for (int i = n; i > 0; i--) {
		size_t len = make_large_report(&b, i);

		assert_int_equal(feed_ask(fd[0], b.data, len, &answer), 0);
		assert_int_equal(answer.status, 0);
	}
	assert_int_equal(feed_ask(fd[0], "{}", 2, &answer), 0);
	assert_int_equal(answer.status, -EINVAL);
	assert_non_null(strstr(answer.text, "is missing"));
	close(fd[0]);
	pthread_join(thread, NULL);
	close(fd[1]);
	buf_fini(&b);
	http_client_free(s.client);
	assert_int_equal(http_client_new(&s.client,
					 &(struct http_client_options){ .max_response = 64 << 20 },
					 NULL),
			 0);
	assert_int_equal(scene_get(&s, AGENTS), 200);
	scene_begins(&s, "{\"agents\":[{\"agent\":\"a0001\",");
	assert_true(s.answer.body.len > AGENTS_MAX_BYTES - 70000);
	assert_true(s.answer.body.len < AGENTS_MAX_BYTES + 2000);
	assert_non_null(strstr(scene_text(&s), "\"a0500\""));
	snprintf(answer.text, sizeof(answer.text), "\"a%04d\"", n);
	assert_null(strstr(scene_text(&s), answer.text));
	scene_end(&s);
}

/* The victim's only report is the oldest of all, and in neither the first nor the last tenant. */
static void a_tenant_with_many_agents_displaces_only_its_own(void **state)
{
	static const char *const tenants[] = { "X-Scope-OrgID: a", "X-Scope-OrgID: z" };
	static const char *const victim[] = { "X-Scope-OrgID: m", NULL };
	const struct server_options opt = { .tenants = true };
	struct buf b = { 0 };
	struct scene s;

	scene_begin(&s, &opt);
	assert_int_equal(scene_send(&s, "POST", AGENTS, victim, "{\"agent\":\"v\"}", 13), 200);
	for (int i = 0; i < AGENTS_MAX_BYTES / 60000 + 100; i++) {
		const char *const headers[] = { tenants[i % 2], NULL };
		size_t len = make_large_report(&b, i);

		assert_int_equal(scene_send(&s, "POST", AGENTS, headers, (const char *)b.data, len),
				 200);
	}
	assert_int_equal(scene_send(&s, "GET", AGENTS, victim, NULL, 0), 200);
	scene_begins(&s, "{\"agents\":[{\"agent\":\"v\",");
	scene_end(&s);
	buf_fini(&b);
}

TEST_GROUP(test_agents, TEST(the_last_report_of_each_agent_is_listed),
	   TEST(a_tenant_sees_only_its_own_agents),
	   TEST(an_invalid_report_is_refused_with_the_reason), TEST(each_limit_is_inclusive),
	   TEST(beyond_the_limit_the_oldest_reports_are_dropped),
	   TEST(a_tenant_with_many_agents_displaces_only_its_own))
