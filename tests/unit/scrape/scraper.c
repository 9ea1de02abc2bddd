/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/scrape/scrape_config.c */
/* A scraper with fake programs in this process; its children are real. */
#include "scrape/scraper.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/thread.h"
#include "codec/pprof/pprof.h"
#include "export/exporter_role.h"
#include "export/window.h"
#include "fetch/fetcher.h"
#include "profile/profile.h"
#include "scrape/scrape_config.h"
#include "scrape/scrape_types.h"
#include "tests/test.h"
#include "tests/unit/net/fixture.h"

enum { PATIENCE_S = 120, INTERVAL_MS = 200 };

/* The windows and messages that the scraper has passed on. */
struct received {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t n, n_messages;
	int64_t first_value, last_value;
	char last_service[64], last_name[64], last_type[64], last_message[400];
};

static void copy(char out[64], const char *text)
{
	snprintf(out, 64, "%s", text ? text : "");
}

static void on_export(void *ctx, struct export_window *w)
{
	struct received *r = ctx;
	const struct export_series *s = &w->series.data[0];
	const struct profile *p = s->profile;

	pthread_mutex_lock(&r->lock);
	assert_true(w->end_ns > w->start_ns);
	copy(r->last_service, export_label(s, "service_name"));
	copy(r->last_name, export_label(s, "__name__"));
	copy(r->last_type, profile_string(p, profile_sample_type(p, 0).type));
	r->last_value = profile_n_samples(p) ? profile_sample(p, 0).values[0] : 0;
	if (!r->n)
		r->first_value = r->last_value;
	r->n++;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	export_window_free(w);
}

static void on_log(void *ctx, const char *message)
{
	struct received *r = ctx;

	pthread_mutex_lock(&r->lock);
	r->n_messages++;
	snprintf(r->last_message, sizeof(r->last_message), "%s", message);
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

static void wait_for(struct received *r, const size_t *counter, size_t n)
{
	uint64_t deadline_ns = clock_monotonic_ns() + PATIENCE_S * (uint64_t)CLOCK_SECOND_NS;

	pthread_mutex_lock(&r->lock);
	while (*counter < n)
		assert_int_equal(thread_wait_until(&r->changed, &r->lock, deadline_ns), 0);
	pthread_mutex_unlock(&r->lock);
}

/* A response with a profile that has one sample of @value, in a memory file that is never closed.
 */
static char *response(const char *type, int64_t value)
{
	_cleanup_(buf_fini) struct buf body = { 0 };
	struct profile_location l = { .mapping = PROFILE_NONE, .address = 0x1000 };
	struct profile_sample s = { .values = &value };
	int fd = memfd_create("profile", MFD_CLOEXEC);
	struct profile *p;
	uint32_t location;
	char *answer;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, type, "count"), 0);
	assert_int_equal(profile_add_location(p, &l, &location), 0);
	assert_int_equal(profile_add_stack(p, &location, 1, &s.stack), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
	assert_int_equal(pprof_write(p, &body, NULL), 0);
	profile_free(p);
	assert_int_equal(write(fd, body.data, body.len), body.len);
	assert_true(asprintf(&answer, FAKE_FILE "/proc/self/fd/%d", fd) > 0);
	return answer;
}

struct setup {
	struct received received;
	struct fetcher *fetcher;
	struct scraper *scraper;
	struct fake_server *server;
	char *url;
};

static void start(struct setup *s, const char *const *answers, size_t n, enum scrape_type type)
{
	struct scraper_opts opts = { .export = on_export, .log = on_log, .ctx = &s->received };
	struct scrape_config_opts c = { .types = 1u << type,
					.interval_ns = INTERVAL_MS * (uint64_t)CLOCK_MS_NS };
	char target[200];
	const char *const targets[] = { target };

	pthread_mutex_init(&s->received.lock, NULL);
	pthread_cond_init(&s->received.changed, NULL);
	s->server = fake_server_new(answers, n);
	s->url = fake_server_url(s->server, "");
	snprintf(target, sizeof(target), "%s service_name=shop", s->url);
	c.targets = targets;
	c.n_targets = 1;
	assert_int_equal(fetcher_new(&s->fetcher, &exporter_role, NULL), 0);
	opts.fetcher = s->fetcher;
	assert_int_equal(scraper_new(&s->scraper, &opts, NULL), 0);
	assert_int_equal(scraper_configure(s->scraper, &c, NULL), 0);
}

static void stop(struct setup *s)
{
	scraper_free(s->scraper);
	fetcher_free(s->fetcher);
	fake_server_free(s->server);
	free(s->url);
}

static void profiles_arrive_in_each_interval(void **state)
{
	char *answer = response("goroutine", 37);
	const char *const answers[] = { answer };
	struct setup s = { 0 };
	struct scraper_stats stats;

	start(&s, answers, 1, SCRAPE_GOROUTINE);
	wait_for(&s.received, &s.received.n, 2);
	scraper_stop(s.scraper);
	scraper_stats(s.scraper, &stats);
	assert_string_equal(s.received.last_service, "shop");
	assert_string_equal(s.received.last_name, "goroutine");
	assert_string_equal(s.received.last_type, "goroutine");
	assert_int_equal(s.received.last_value, 37);
	assert_true(stats.results[SCRAPE_OK] >= 2);
	assert_int_equal(stats.n_targets, 1);
	assert_non_null(strstr(fake_server_request(s.server, 0), "GET /debug/pprof/goroutine "));
	stop(&s);
	free(answer);
}

static void cumulative_profiles_are_differences(void **state)
{
	char *first = response("alloc_objects", 10), *second = response("alloc_objects", 31);
	const char *const answers[] = { first, second };
	struct setup s = { 0 };
	struct scraper_stats stats;

	start(&s, answers, 2, SCRAPE_MEMORY);
	wait_for(&s.received, &s.received.n, 1);
	assert_int_equal(s.received.last_value, 21);
	scraper_stats(s.scraper, &stats);
	assert_int_equal(stats.n_first, 1);
	wait_for(&s.received, &s.received.n, 2);
	scraper_stop(s.scraper);
	assert_int_equal(s.received.last_value, 0);
	stop(&s);
	free(first);
	free(second);
}

/* The second response is exported unmodified, and so is the first. */
static void differences_of_the_program_are_exported_unmodified(void **state)
{
	char *first = response("alloc_objects", 10), *second = response("alloc_objects", 31);
	const char *const answers[] = { first, second };
	struct setup s = { 0 };
	struct scraper_stats stats;

	start(&s, answers, 2, SCRAPE_DELTA_MEMORY);
	wait_for(&s.received, &s.received.n, 1);
	wait_for(&s.received, &s.received.n, 2);
	scraper_stop(s.scraper);
	scraper_stats(s.scraper, &stats);
	assert_string_equal(s.received.last_name, "memory");
	assert_int_equal(s.received.first_value, 10);
	assert_int_equal(s.received.last_value, 31);
	assert_int_equal(stats.n_first, 0);
	assert_non_null(strstr(fake_server_request(s.server, 0), "GET /debug/pprof/delta_heap "));
	stop(&s);
	free(first);
	free(second);
}

static void a_failure_is_logged_once(void **state)
{
	static const char *const answers[] = { "HTTP/1.1 503 No\r\nConnection: close\r\n\r\n" };
	struct setup s = { 0 };
	struct scraper_stats stats;

	start(&s, answers, 1, SCRAPE_GOROUTINE);
	do {
		usleep(INTERVAL_MS);
		scraper_stats(s.scraper, &stats);
	} while (stats.n_rounds < 3);
	scraper_stop(s.scraper);
	assert_int_equal(s.received.n_messages, 1);
	assert_non_null(strstr(s.received.last_message,
			       "/debug/pprof/goroutine: the response has an "
			       "error status: 503"));
	assert_true(stats.results[SCRAPE_STATUS] >= 3);
	assert_false(stats.targets[0].is_up);
	stop(&s);
}

static void it_ends_while_a_program_is_silent(void **state)
{
	static const char *const answers[] = { FAKE_SILENCE };
	struct setup s = { 0 };

	start(&s, answers, 1, SCRAPE_CPU);
	fake_server_wait(s.server, 1);
	stop(&s);
}

static void wrong_configurations_are_errors(void **state)
{
	static const char *const bad_target[] = { "ftp://x" }, *const bad_rule[] = { "no rule" };
	const struct scrape_config_opts configs[] = {
		{ .targets = bad_target, .n_targets = 1 },
		{ .rules = bad_rule, .n_rules = 1 },
		{ .file = "/nonexistent" },
	};
	char *answer = response("goroutine", 1);
	const char *const answers[] = { answer };
	struct setup s = { 0 };

	start(&s, answers, 1, SCRAPE_GOROUTINE);
	for (size_t i = 0; i < sizeof(configs) / sizeof(*configs); i++) {
		struct err err = { 0 };

		assert_true(scraper_configure(s.scraper, &configs[i], &err) < 0);
		assert_string_not_equal(err.msg, "");
	}
	/* the old one stays */
	wait_for(&s.received, &s.received.n, 2);
	stop(&s);
	free(answer);
}

TEST_GROUP(test_scraper, TEST(profiles_arrive_in_each_interval),
	   TEST(cumulative_profiles_are_differences),
	   TEST(differences_of_the_program_are_exported_unmodified), TEST(a_failure_is_logged_once),
	   TEST(it_ends_while_a_program_is_silent), TEST(wrong_configurations_are_errors))
