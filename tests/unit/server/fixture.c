/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../store/fixture.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "server/server.h"
#include "store/store.h"
#include "tests/test.h"

static const struct {
	const char *instance, *region, *service, *folded;
	int64_t after_s;
} data[] = {
	{ "a", "eu", "shop",
	  "main;serve 2\nmain;serve;parse 3\nmain;serve;query;lock 5\nmain;gc 1\n", 0 },
	{ "b", "us", "shop", "main;serve;parse 4\nmain;serve;query 6\n", 15 },
	{ "c", "eu", "mail", "main;send;smtp 7\nmain;gc 2\n", 15 },
};

static void append_data(const char *dir)
{
	_cleanup_(store_closep) struct store *store = fixture_open(dir);

	for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++) {
		_cleanup_(profile_freep) struct profile *p = fixture_profile(data[i].folded);
		const struct store_label labels[] = { { "instance", data[i].instance },
						      { "region", data[i].region },
						      { "service_name", data[i].service } };
		const struct store_profile sp = { .name = "process_cpu",
						  .labels = labels,
						  .n_labels = 3,
						  .time_ns = (DATA_S + data[i].after_s) *
							     (int64_t)CLOCK_SECOND_NS,
						  .profile = p };

		assert_int_equal(store_append(store, "anonymous", &sp, 1, NULL), 0);
	}
}

static void start(struct scene *s, const struct server_options *opt)
{
	struct server_options own = opt ? *opt : (struct server_options){ 0 };
	struct err err = { 0 };

	own.host = "127.0.0.1";
	own.dir = s->dir;
	if (server_open(&s->server, &own, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(http_client_new(&s->client,
					 &(struct http_client_options){ .timeout_ms = 120000 },
					 NULL),
			 0);
}

void scene_begin(struct scene *s, const struct server_options *opt)
{
	*s = (struct scene){ .dir = fixture_dir() };
	start(s, opt);
}

void scene_begin_with_data(struct scene *s, const struct server_options *opt)
{
	*s = (struct scene){ .dir = fixture_dir() };
	append_data(s->dir);
	start(s, opt);
}

void scene_end(struct scene *s)
{
	http_client_free(s->client);
	http_client_response_fini(&s->answer);
	server_close(s->server);
	fixture_remove(s->dir);
}

int scene_send(struct scene *s, const char *method, const char *path, const char *const *headers,
	       const void *body, size_t len)
{
	_cleanup_(freep) char *url = NULL;
	struct http_client_request rq = {
		.method = method, .headers = headers, .body = body, .body_len = len
	};
	struct err err = { 0 };

	assert_true(asprintf(&url, "http://127.0.0.1:%u%s", server_port(s->server), path) > 0);
	rq.url = url;
	while (headers && headers[rq.n_headers])
		rq.n_headers++;
	if (http_client_do(s->client, &rq, &s->answer, &err) < 0)
		fail_msg("%s: %s", path, err.msg);
	buf_put_byte(&s->answer.body, 0);
	assert_int_equal(buf_error(&s->answer.body), 0);
	s->answer.body.len--;
	return s->answer.status;
}

int scene_get(struct scene *s, const char *path)
{
	return scene_send(s, "GET", path, NULL, NULL, 0);
}

int scene_post(struct scene *s, const char *path, const char *json)
{
	static const char *const headers[] = { "Content-Type: application/json", NULL };

	return scene_send(s, "POST", path, headers, json, strlen(json));
}

const char *scene_text(const struct scene *s)
{
	return (const char *)s->answer.body.data;
}

void scene_begins(const struct scene *s, const char *text)
{
	if (strncmp(scene_text(s), text, strlen(text)) != 0)
		fail_msg("not %s: %s", text, scene_text(s));
}

void scene_expect(struct scene *s, const char *path, const char *json, int status,
		  const char *answer)
{
	int got = scene_post(s, path, json);

	if (got != status)
		fail_msg("%s: %d %s", path, got, scene_text(s));
	assert_string_equal(scene_text(s), answer);
}

void scene_refuses(struct scene *s, const char *path, const char *json, int status,
		   const char *code, const char *words)
{
	_cleanup_(freep) char *begin = NULL;
	int got = scene_post(s, path, json);

	assert_true(asprintf(&begin, "{\"code\":\"%s\",\"message\":\"", code) > 0);
	if (got != status || strncmp(scene_text(s), begin, strlen(begin)) != 0 ||
	    !strstr(scene_text(s), words))
		fail_msg("%s: %d %s", path, got, scene_text(s));
}

int64_t scene_total(struct scene *s, const char *selector, const char *range)
{
	_cleanup_(freep) char *json = NULL;
	const char *total;

	assert_true(asprintf(&json,
			     "{\"profileTypeID\":\"" CPU_TYPE "\",\"labelSelector\":\"%s\",%s}",
			     selector, range) > 0);
	assert_int_equal(scene_post(s, QUERIER "SelectMergeStacktraces", json), 200);
	total = strstr(scene_text(s), "\"total\":\"");
	return total ? strtoll(total + strlen("\"total\":\""), NULL, 10) : 0;
}

struct flame_text {
	struct buf out;
	struct {
		VEC(char *);
	} names;
	char word[256]; /* of the bar that is being read */
	int n_sides, n; /* numbers of the bar so far */
};

static int read_name(struct json_read *j, void *ctx)
{
	struct flame_text *f = ctx;

	assert_int_equal(json_read_string(j), 0);
	return vec_push(&f->names, strdup((const char *)j->text.data));
}

/* Pyroscope's Connect responses write 64-bit numbers as strings, /pyroscope/render does not. */
static int64_t read_number(struct json_read *j)
{
	double v = 0;

	if (json_read_peek(j) != '"') {
		assert_int_equal(json_read_number(j, &v), 0);
		return (int64_t)v;
	}
	assert_int_equal(json_read_string(j), 0);
	return strtoll((const char *)j->text.data, NULL, 10);
}

static int read_bar(struct json_read *j, void *ctx)
{
	struct flame_text *f = ctx;
	int64_t v = read_number(j);
	size_t len = strlen(f->word);

	if (f->n < 3 * f->n_sides) {
		snprintf(f->word + len, sizeof(f->word) - len, "%c%" PRId64, f->n % 3 ? '/' : ':',
			 v);
		f->n++;
		return 0;
	}
	assert_true(v >= 0 && (size_t)v < f->names.len);
	buf_printf(&f->out, "%s%s ", f->names.data[v], f->word);
	f->word[0] = 0;
	f->n = 0;
	return 0;
}

static int read_values(struct json_read *j, void *ctx)
{
	return json_read_is(j, "values") ? json_read_each(j, '[', read_bar, ctx)
					 : json_read_skip(j);
}

static int read_level(struct json_read *j, void *ctx)
{
	struct flame_text *f = ctx;
	int r = json_read_peek(j) == '{' ? json_read_each(j, '{', read_values, f)
					 : json_read_each(j, '[', read_bar, f);

	assert_int_equal(f->n, 0);
	f->out.data[f->out.len - 1] = '\n';
	return r;
}

static int read_flame(struct json_read *j, void *ctx)
{
	struct flame_text *f = ctx;

	if (json_read_is(j, "names"))
		return json_read_each(j, '[', read_name, f);
	return json_read_is(j, "levels") ? json_read_each(j, '[', read_level, f)
					 : json_read_skip(j);
}

static int read_response(struct json_read *j, void *ctx)
{
	return json_read_is(j, "flamegraph") || json_read_is(j, "flamebearer")
		       ? json_read_each(j, '{', read_flame, ctx)
		       : json_read_skip(j);
}

char *scene_flame(const struct scene *s, int n_sides)
{
	struct flame_text f = { .n_sides = n_sides };
	struct json_read j;

	json_read_init(&j, s->answer.body.data, s->answer.body.len);
	assert_int_equal(json_read_each(&j, '{', read_response, &f), 0);
	assert_int_equal(json_read_end(&j), 0);
	json_read_fini(&j);
	for (size_t i = 0; i < f.names.len; i++)
		free(f.names.data[i]);
	vec_fini(&f.names);
	buf_put_byte(&f.out, 0);
	return (char *)f.out.data;
}
