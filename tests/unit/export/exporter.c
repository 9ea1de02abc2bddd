/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exporter with a sink of Pyroscope, whose requests and responses show what is sent when.
 *
 * covers: src/export/post.c src/export/post_job.c src/export/pyroscope.c
 */
#include "export/export.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../codec/fixture.h"
#include "../net/fixture.h"
#include "base/clock.h"
#include "base/err.h"
#include "codec/common/limits.h"
#include "codec/common/wire.h"
#include "codec/pprof/pprof.h"
#include "export/window.h"
#include "profile/profile.h"
#include "tests/test.h"

#define OK        "HTTP/1.1 200 OK\r\nContent-Type: application/proto\r\nContent-Length: 0\r\n\r\n"
#define STATUS(s) "HTTP/1.1 " s "\r\nContent-Length: 0\r\n\r\n"

enum { FOR_EVER_S = 100000 };

/* Creates an exporter with one Pyroscope server that sends these responses. */
struct scene {
	struct fake_server *server;
	struct exporter *exporter;
	struct exporter_stats stats;
	struct exporter_options opt;
	struct export_sink_options sink;
	char *url;
	pthread_mutex_t lock;
	char log[4096];
};

static void on_log(void *ctx, const char *message)
{
	struct scene *s = ctx;
	size_t len;

	pthread_mutex_lock(&s->lock);
	len = strlen(s->log);
	snprintf(s->log + len, sizeof(s->log) - len, "%s\n", message);
	pthread_mutex_unlock(&s->lock);
}

static void prepare(struct scene *s, const char *const *answers, size_t n)
{
	*s = (struct scene){ .server = fake_server_new(answers, n) };
	pthread_mutex_init(&s->lock, NULL);
	s->url = fake_server_url(s->server, "/");
	s->sink = (struct export_sink_options){ .kind = EXPORT_PYROSCOPE, .url = s->url };
	s->opt = (struct exporter_options){
		.sinks = &s->sink,
		.n_sinks = 1,
		.retry_ms = 1,
		.log = on_log,
		.log_ctx = s,
	};
}

static void begin(struct scene *s, const char *const *answers, size_t n)
{
	prepare(s, answers, n);
	assert_int_equal(exporter_new(&s->exporter, &s->opt, NULL), 0);
}

static void end(struct scene *s)
{
	exporter_free(s->exporter);
	fake_server_free(s->server);
	pthread_mutex_destroy(&s->lock);
	free(s->url);
}

static void put(struct scene *s)
{
	static const struct export_label labels[] = { { "service_name", "shop" },
						      { "pid", "7" },
						      { "empty", "" } };
	struct export_window *w;

	assert_int_equal(export_window_new(&w, 1700000000000000000, 1700000015000000000), 0);
	assert_int_equal(export_window_add(w, fixture_small(), labels, 3), 0);
	exporter_put(s->exporter, w);
}

static void stop(struct scene *s, unsigned int seconds)
{
	exporter_stop(s->exporter,
		      seconds ? clock_monotonic_ns() + (uint64_t)seconds * CLOCK_SECOND_NS : 0);
	exporter_stats(s->exporter, &s->stats);
}

static struct wire body_of(struct scene *s, size_t i)
{
	const char *request = fake_server_request(s->server, i);
	const char *body = strstr(request, "\r\n\r\n") + 4;
	const char *len = strcasestr(request, "content-length:");

	return wire_of(body, strtoul(len + 15, NULL, 10));
}

static struct wire part(struct wire w, uint32_t number, size_t n)
{
	struct wire_field f;

	while (wire_next(&w, &f) > 0)
		if (f.number == number && n-- == 0)
			return f.bytes;
	fail_msg("field %u is missing", number);
	return w;
}

static void assert_label(struct wire series, size_t n, const char *name, const char *value)
{
	struct wire l = part(series, 1, n);

	assert_int_equal(wire_len(part(l, 1, 0)), strlen(name));
	assert_memory_equal(part(l, 1, 0).p, name, strlen(name));
	assert_int_equal(wire_len(part(l, 2, 0)), strlen(value));
	assert_memory_equal(part(l, 2, 0).p, value, strlen(value));
}

static void a_pyroscope_server_gets_series_with_labels_and_a_pprof(void **state)
{
	static const char *const answer = OK;
	const struct codec_limits limits = codec_limits_default();
	struct wire series, sample, raw;
	struct profile *p;
	struct scene s;

	begin(&s, &answer, 1);
	put(&s);
	stop(&s, FOR_EVER_S);
	assert_int_equal(s.stats.sinks[0].sent_items, 1);
	assert_int_equal(s.stats.sinks[0].sent_profiles, 1);
	assert_int_equal(fake_server_n_requests(s.server), 1);
	assert_non_null(strstr(fake_server_request(s.server, 0),
			       "POST /push.v1.PusherService/Push HTTP/1.1\r\n"));
	series = part(body_of(&s, 0), 1, 0);
	assert_label(series, 0, "__name__", "process_cpu");
	assert_label(series, 1, "service_name", "shop");
	assert_label(series, 2, "pid", "7");
	sample = part(series, 2, 0);
	assert_int_equal(wire_len(part(sample, 2, 0)), 36);
	raw = part(sample, 1, 0);
	assert_int_equal(pprof_read(&p, raw.p, wire_len(raw), &limits, NULL), 0);
	assert_int_equal(profile_n_samples(p), 2);
	assert_int_equal(profile_sample(p, 0).values[0] + profile_sample(p, 1).values[0], 4);
	assert_int_equal(profile_sample(p, 0).n_labels + profile_sample(p, 1).n_labels, 0);
	profile_free(p);
	end(&s);
}

static void credentials_tenant_and_headers_go_with_it(void **state)
{
	static const char *const answer = OK;
	static const char *const headers[] = { "X-Extra: yes" };
	struct scene s;

	prepare(&s, &answer, 1);
	s.sink.basic = "user:pass";
	s.sink.tenant = "team";
	s.sink.headers = headers;
	s.sink.n_headers = 1;
	assert_int_equal(exporter_new(&s.exporter, &s.opt, NULL), 0);
	put(&s);
	stop(&s, FOR_EVER_S);
	assert_non_null(
		strstr(fake_server_request(s.server, 0), "Authorization: Basic dXNlcjpwYXNz\r\n"));
	assert_non_null(strstr(fake_server_request(s.server, 0), "X-Scope-OrgID: team\r\n"));
	assert_non_null(strstr(fake_server_request(s.server, 0), "X-Extra: yes\r\n"));
	end(&s);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void a_token_is_read_again_for_every_request(void **state)
{
	static const char *const answer = OK;
	char path[] = "/tmp/cameo-token-XXXXXX";
	struct scene s;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	write_file(path, "first\n");
	prepare(&s, &answer, 1);
	s.sink.bearer_file = path;
	assert_int_equal(exporter_new(&s.exporter, &s.opt, NULL), 0);
	put(&s);
	fake_server_wait(s.server, 1);
	write_file(path, "second");
	put(&s);
	stop(&s, FOR_EVER_S);
	assert_non_null(
		strstr(fake_server_request(s.server, 0), "Authorization: Bearer first\r\n"));
	assert_non_null(
		strstr(fake_server_request(s.server, 1), "Authorization: Bearer second\r\n"));
	unlink(path);
	end(&s);
}

static void an_item_is_sent_again_after_a_busy_server(void **state)
{
	static const char *const answers[] = { STATUS("503 Busy"),
					       STATUS("429 Slow"),
					       "garbage\r\n\r\n",
					       "",
					       STATUS("307 There"),
					       ("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
						"Content-Length: 5\r\n\r\nhello"),
					       "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
					       OK };
	const size_t n = sizeof(answers) / sizeof(answers[0]);
	struct scene s;

	begin(&s, answers, n);
	put(&s);
	fake_server_wait(s.server, n);
	stop(&s, FOR_EVER_S);
	assert_int_equal(s.stats.sinks[0].sent_items, 1);
	assert_int_equal(s.stats.sinks[0].retries, n - 1);
	assert_int_equal(fake_server_n_requests(s.server), n);
	for (size_t i = 1; i < n; i++)
		assert_int_equal(wire_len(body_of(&s, i)), wire_len(body_of(&s, 0)));
	for (size_t i = 1; i < n; i++)
		assert_memory_equal(body_of(&s, i).p, body_of(&s, 0).p, wire_len(body_of(&s, 0)));
	end(&s);
}

static void a_redirect_is_followed_only_to_the_same_server(void **state)
{
	static const char *const answers[] = {
		"HTTP/1.1 308 There\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n",
		STATUS("503 Busy"),
		"HTTP/1.1 308 There\r\nLocation: http://127.0.0.2:1/x\r\nContent-Length: 0\r\n\r\n",
		OK,
	};
	struct scene s;

	prepare(&s, answers, 4);
	s.sink.bearer = "secret";
	assert_int_equal(exporter_new(&s.exporter, &s.opt, NULL), 0);
	put(&s);
	fake_server_wait(s.server, 4);
	stop(&s, FOR_EVER_S);
	assert_int_equal(s.stats.sinks[0].sent_items, 1);
	assert_int_equal(fake_server_n_requests(s.server), 4);
	assert_non_null(strstr(fake_server_request(s.server, 1), "POST /there HTTP/1.1\r\n"));
	assert_non_null(
		strstr(fake_server_request(s.server, 1), "Authorization: Bearer secret\r\n"));
	assert_null(strstr(fake_server_request(s.server, 2), "POST /there "));
	for (size_t i = 1; i < 4; i++) {
		assert_int_equal(wire_len(body_of(&s, i)), wire_len(body_of(&s, 0)));
		assert_memory_equal(body_of(&s, i).p, body_of(&s, 0).p, wire_len(body_of(&s, 0)));
	}
	end(&s);
}

static void a_refused_item_is_dropped_and_reported_once(void **state)
{
	static const char *const answers[] = {
		"HTTP/1.1 400 Bad\r\nContent-Type: application/json\r\n\r\n"
		"{\"code\":\"invalid_argument\",\"message\":\"too\\nmany labels here!!\"}",
		STATUS("409 Who"), STATUS("413 Large"), OK
	};
	struct scene s;

	begin(&s, answers, 4);
	for (int i = 0; i < 3; i++) {
		put(&s);
		fake_server_wait(s.server, (size_t)i + 1);
	}
	put(&s);
	stop(&s, FOR_EVER_S);
	assert_int_equal(s.stats.sinks[0].dropped[EXPORT_DROP_REFUSED], 3);
	assert_int_equal(s.stats.sinks[0].sent_items, 1);
	assert_int_equal(fake_server_n_requests(s.server), 4);
	assert_non_null(strstr(s.log, "status 400: too?many labels here!!; "));
	assert_null(strstr(s.log, "409"));
	end(&s);
}

static void an_item_that_breaks_the_server_is_dropped_in_the_end(void **state)
{
	static const char *const answer = STATUS("500 Oops");
	struct scene s;

	begin(&s, &answer, 1);
	put(&s);
	fake_server_wait(s.server, 8);
	stop(&s, FOR_EVER_S);
	assert_int_equal(s.stats.sinks[0].dropped[EXPORT_DROP_REFUSED], 1);
	assert_int_equal(fake_server_n_requests(s.server), 8);
	end(&s);
}

static void a_silent_server_does_not_delay_the_end(void **state)
{
	static const char *const answer = FAKE_SILENCE;
	struct scene s;

	prepare(&s, &answer, 1);
	s.sink.timeout_ms = FOR_EVER_S * 1000;
	assert_int_equal(exporter_new(&s.exporter, &s.opt, NULL), 0);
	put(&s);
	put(&s);
	fake_server_wait(s.server, 1);
	stop(&s, 0);
	assert_int_equal(s.stats.sinks[0].dropped[EXPORT_DROP_STOPPED], 2);
	assert_int_equal(s.stats.sinks[0].queued_items, 0);
	assert_int_equal(s.stats.sinks[0].queued_bytes, 0);
	end(&s);
}

static void the_oldest_items_are_dropped_when_space_runs_out(void **state)
{
	static const char *const answer = FAKE_SILENCE;
	struct exporter_stats stats = { 0 };
	struct scene s;

	prepare(&s, &answer, 1);
	s.opt.queue_bytes = 2000;
	s.sink.timeout_ms = FOR_EVER_S * 1000;
	assert_int_equal(exporter_new(&s.exporter, &s.opt, NULL), 0);
	put(&s);
	fake_server_wait(s.server, 1);
	while (!stats.sinks[0].dropped[EXPORT_DROP_QUEUE_FULL]) {
		put(&s);
		exporter_stats(s.exporter, &stats);
	}
	assert_true(stats.sinks[0].queued_bytes <= 2000);
	assert_true(stats.sinks[0].queued_items > 0);
	end(&s);
}

static void refuses_options_that_make_no_sense(void **state)
{
	static const char *const bad_header[] = { "No colon" };
	const struct export_sink_options bad[] = {
		{ .kind = EXPORT_PYROSCOPE },
		{ .kind = EXPORT_PYROSCOPE, .url = "" },
		{ .kind = EXPORT_PYROSCOPE, .url = "grpc://host" },
		{ .kind = EXPORT_PYROSCOPE, .url = "http://h", .bearer = "a", .basic = "b:c" },
		{ .kind = EXPORT_PYROSCOPE, .url = "http://h", .bearer = "a\nb" },
		{ .kind = EXPORT_PYROSCOPE, .url = "http://h", .tenant = "a\r\nb" },
		{ .kind = EXPORT_PYROSCOPE, .url = "http://h", .bearer_file = "/nowhere" },
		{ .kind = EXPORT_PYROSCOPE, .url = "http://h", .ca_file = "/nowhere" },
		{ .kind = EXPORT_PYROSCOPE,
		  .url = "http://h",
		  .headers = bad_header,
		  .n_headers = 1 },
	};
	struct exporter *e;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = { 0 };

		assert_int_equal(
			exporter_new(&e,
				     &(struct exporter_options){ .sinks = &bad[i], .n_sinks = 1 },
				     &err),
			-EINVAL);
		assert_true(strlen(err.msg) > 0);
	}
	assert_int_equal(exporter_new(&e, &(struct exporter_options){ 0 }, NULL), -EINVAL);
}

static void credentials_in_a_url_are_not_shown(void **state)
{
	static const char *const answer = OK;
	struct scene s;

	prepare(&s, &answer, 1);
	s.sink.url = "http://user:secret@host:1/path?token=secret";
	assert_int_equal(exporter_new(&s.exporter, &s.opt, NULL), 0);
	exporter_stats(s.exporter, &s.stats);
	assert_string_equal(s.stats.sinks[0].name, "pyroscope http://host:1/path");
	end(&s);
}

TEST_GROUP(test_exporter, TEST(a_pyroscope_server_gets_series_with_labels_and_a_pprof),
	   TEST(credentials_tenant_and_headers_go_with_it),
	   TEST(a_token_is_read_again_for_every_request),
	   TEST(an_item_is_sent_again_after_a_busy_server),
	   TEST(a_redirect_is_followed_only_to_the_same_server),
	   TEST(a_refused_item_is_dropped_and_reported_once),
	   TEST(an_item_that_breaks_the_server_is_dropped_in_the_end),
	   TEST(a_silent_server_does_not_delay_the_end),
	   TEST(the_oldest_items_are_dropped_when_space_runs_out),
	   TEST(refuses_options_that_make_no_sense), TEST(credentials_in_a_url_are_not_shown))
