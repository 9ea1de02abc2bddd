/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times in arguments, and the property that no argument is ignored: each value that is not
 * understood, each unknown name and each repetition is refused by every method that has arguments.
 *
 * covers: src/server/arguments.c src/server/time_arg.c
 */
#include "server/arguments.h"
#include "server/time_arg.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "fixture.h"
#include "server/api.h"
#include "tests/test.h"

static void expect_time(const char *text, int64_t now_ns, int64_t expected)
{
	int64_t got = 0;

	assert_int_equal(time_arg_parse(text, now_ns, &got), 0);
	assert_true(got == expected);
}

static void times_are_recognized_by_magnitude(void **state)
{
	static const char *const bad[] = { "",
					   "soon",
					   "now-1y",
					   "now-",
					   "now-s",
					   "now-1",
					   "now5",
					   "now+1h",
					   "now--1s",
					   "0",
					   "-5",
					   "1700000000x",
					   " 1",
					   "1.5",
					   "now-0s",
					   "now-1234567s",
					   "9223372037",    /* seconds, one more than */
					   "18446744074",   /* 64 bits of nanoseconds have */
					   "9223372036855", /* milliseconds */
					   "99999999999",
					   "99999999999999",
					   "9223372036854775808" };
	const int64_t now = 1800000000 * (int64_t)CLOCK_SECOND_NS;
	int64_t got;

	expect_time("now", now, now);
	expect_time("now-90s", now, now - 90 * (int64_t)CLOCK_SECOND_NS);
	expect_time("now-1h", now, now - 3600 * (int64_t)CLOCK_SECOND_NS);
	expect_time("1700000000", now, 1700000000 * (int64_t)CLOCK_SECOND_NS);
	expect_time("1700000000123", now, 1700000000123 * (int64_t)CLOCK_MS_NS);
	expect_time("1700000000123456789", now, 1700000000123456789);
	expect_time("9223372036", now, 9223372036 * (int64_t)CLOCK_SECOND_NS);
	expect_time("9223372036854", now, 9223372036854 * (int64_t)CLOCK_MS_NS);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(time_arg_parse(bad[i], now, &got), -EINVAL);
	assert_int_equal(time_arg_parse("now-1d", CLOCK_SECOND_NS, &got), -EINVAL);
}

static bool is_checked(const struct api_method *m)
{
	return m->cost != API_FREE && m->cost != API_VERIFY && m->path[strlen(m->path) - 1] != '/';
}

/* Sends a request with these arguments; they are checked before method and body. */
static int call(struct scene *s, const struct api_method *m, const char *before, const char *name,
		const char *value)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s?%s&%s=%s", m->path, before, name, value);
	return strcmp(m->path, "/ingest") != 0 && strcmp(m->path, "/pyroscope/ingest") != 0
		       ? scene_get(s, path)
		       : scene_send(s, "POST", path, NULL, "main 1\n", 7);
}

/* Arguments with which a method that has any answers with 200. */
static const char *valid_arguments(const struct api_method *m)
{
#define QUERY "process_cpu%3Acpu%3Ananoseconds%3Acpu%3Ananoseconds"
	static const char *const all[][2] = {
		{ "/ingest", "name=app" },
		{ "/pyroscope/ingest", "name=app" },
		{ "/pyroscope/render", "query=" QUERY },
		{ "/pyroscope/render-diff", "leftQuery=" QUERY "&rightQuery=" QUERY },
		{ "/api/v1/profile", "type=" QUERY "&from=1&until=2" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i][0], m->path))
			return all[i][1];
	return NULL;
}

/* The values of these are texts of the client. */
static bool is_free(const char *name)
{
	return !strcmp(name, "name") || !strcmp(name, "spyName") || !strcmp(name, "groupBy");
}

static bool is_given(const char *arguments, const char *name)
{
	char word[64];

	snprintf(word, sizeof(word), "%s=", name);
	return strstr(arguments, word) != NULL;
}

static void check_argument(struct scene *s, const struct api_method *m, const char *valid,
			   const char *name)
{
	static const char *const bad[] = { "bogus", "1x", "%201", "-1", "now%2B1h", "1e9" };
	char twice[512];

	snprintf(twice, sizeof(twice), "%s&%s=1", valid, name);
	if (call(s, m, twice, name, "1") != 400)
		fail_msg("%s: %s twice is accepted", m->path, name);
	for (size_t i = 0;
	     !is_free(name) && !is_given(valid, name) && i < sizeof(bad) / sizeof(bad[0]); i++) {
		int status = call(s, m, valid, name, bad[i]);

		if (status != 400 && status != 501)
			fail_msg("%s: %s=%s has status %d", m->path, name, bad[i], status);
	}
	if (!is_free(name) && !is_given(valid, name) && call(s, m, valid, name, "") != 200)
		fail_msg("%s: an empty %s is refused: %s", m->path, name, scene_text(s));
}

static void check_method(struct scene *s, const struct api_method *m)
{
	const char *valid = valid_arguments(m);
	char names[256], *rest = names, *name;

	if (call(s, m, valid ? valid : "", "nosuch", "1") !=
	    (valid && strchr(m->arguments, '*') ? 200 : 400))
		fail_msg("%s: an unknown argument has another status: %s", m->path, scene_text(s));
	if (!m->arguments)
		return;
	assert_non_null(valid); /* a method with arguments needs a row in valid_arguments() */
	snprintf(names, sizeof(names), "%s", m->arguments);
	while ((name = strsep(&rest, " ")))
		if (strcmp(name, "*") != 0)
			check_argument(s, m, valid, name);
}

static void no_argument_is_ignored(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	for (const struct api_list *const *list = api_lists; *list; list++)
		for (size_t i = 0; i < (*list)->n; i++)
			if (is_checked(&(*list)->methods[i]))
				check_method(&s, &(*list)->methods[i]);
	scene_end(&s);
}

TEST_GROUP(test_arguments, TEST(times_are_recognized_by_magnitude), TEST(no_argument_is_ignored))
