/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statements and responses of queries, against a model of ClickHouse; clickhouse_store.c runs the
 * contract of stores against it.
 */
#include "store/clickhouse/clickhouse_query.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "fake_clickhouse.h"
#include "fixture.h"
#include "flame/merged_stacks.h"
#include "profile/profile.h"
#include "store/clickhouse/clickhouse_http.h"
#include "store/clickhouse/clickhouse_writer.h"
#include "store/matcher.h"
#include "store/timed_samples.h"
#include "tests/test.h"

static const struct store_type samples = { "process_cpu", "samples", "count", "cpu",
					   "nanoseconds" };

struct scene {
	struct fake_clickhouse *fake;
	struct clickhouse_http *http;
	struct clickhouse_writer *w;
	struct store_select sel;
	struct err err;
};

static void begin(struct scene *s)
{
	char *url;

	*s = (struct scene){ .fake = fake_clickhouse_new() };
	url = fake_clickhouse_url(s->fake, "/cameo");
	assert_int_equal(clickhouse_http_new(&s->http, url, NULL), 0);
	assert_int_equal(clickhouse_writer_new(&s->w, s->http), 0);
	s->sel = (struct store_select){ .tenant = "t", .type = &samples, .end_ns = INT64_MAX };
	free(url);
}

static void end(struct scene *s)
{
	clickhouse_writer_free(s->w);
	clickhouse_http_free(s->http);
	fake_clickhouse_free(s->fake);
}

static void append_profile(struct scene *s, const char *instance, int64_t time_ns,
			   const struct profile *p)
{
	const struct store_label label = { "instance", instance };
	const struct store_profile sp = { .name = "process_cpu",
					  .labels = &label,
					  .n_labels = 1,
					  .time_ns = time_ns,
					  .profile = p };

	assert_int_equal(clickhouse_writer_append(s->w, "t", &sp, 1, NULL), 0);
}

static void append(struct scene *s, const char *instance, int64_t time_ns, const char *folded)
{
	_cleanup_(profile_freep) struct profile *p = fixture_profile(folded);

	append_profile(s, instance, time_ns, p);
}

/* A profile with one sample at a time for each of @n threads, which have a series each. */
static struct profile *threads_profile(int n)
{
	struct profile *p = fixture_profile("main;f 2\n");
	const struct profile_sample first = profile_sample(p, 0);
	const int64_t values[] = { 1, 10000000 };

	for (int i = 0; i < n; i++) {
		const uint64_t time = NOON + 1 + (uint64_t)i;
		struct profile_label label = { 0 };
		struct profile_sample s = { .stack = first.stack,
					    .values = values,
					    .labels = &label,
					    .n_labels = 1,
					    .times = &time,
					    .n_times = 1 };
		char text[16];
		int len = snprintf(text, sizeof(text), "%d", i);

		assert_int_equal(profile_add_string(p, "thread", 6, &label.key), 0);
		assert_int_equal(profile_add_string(p, text, (size_t)len, &label.str), 0);
		assert_int_equal(profile_add_sample(p, &s), 0);
	}
	return p;
}

static int merge(struct scene *s, int64_t *total)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *out = NULL;
	int r;

	s->err = (struct err){ 0 };
	assert_int_equal(merged_stacks_new(&out), 0);
	r = clickhouse_query_merge(s->http, &s->sel, out, &s->err);
	*total = out->total;
	return r;
}

struct counts {
	size_t series, points, times;
	int64_t sum;
};

static int on_series(void *ctx, const struct store_label *labels, size_t n)
{
	((struct counts *)ctx)->series++;
	return 0;
}

static int on_point(void *ctx, const struct store_point *p)
{
	struct counts *c = ctx;

	c->points++;
	c->sum += p->value;
	return 0;
}

static int on_times(void *ctx, const struct store_point *p, const int64_t *times_ns, size_t n)
{
	struct counts *c = ctx;

	c->times += n;
	return on_point(ctx, p);
}

/* Runs each kind of query; the first error. */
static int run_all(struct scene *s, struct counts *c)
{
	static const char *const site[] = { "main" };
	struct timed_samples timed = { .pid = -1, .tid = -1 };
	int64_t total;
	int r = merge(s, &total);

	*c = (struct counts){ 0 };
	if (r == 0)
		r = clickhouse_query_series(s->http, &s->sel, on_series, c, &s->err);
	if (r == 0)
		r = clickhouse_query_points(s->http, &s->sel, on_series, on_point, c, &s->err);
	s->sel.call_site = site;
	s->sel.n_call_site = 1;
	if (r == 0)
		r = clickhouse_query_points(s->http, &s->sel, on_series, on_point, c, &s->err);
	s->sel.n_call_site = 0;
	if (r == 0)
		r = clickhouse_query_sample_times(s->http, &s->sel, on_times, c, &s->err);
	if (r == 0) {
		assert_int_equal(merged_stacks_new(&timed.stacks), 0);
		r = clickhouse_query_samples(s->http, &s->sel, DAY, &timed, &s->err);
		timed_samples_fini(&timed);
	}
	return r;
}

static void texts_of_clients_stay_in_their_quotes(void **state)
{
	static const char *const names[] = { "it's", "\\", "\\'", "') OR 1=1 --", "a%b" };
	struct scene s;

	begin(&s);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		_cleanup_(matcher_freep) struct matcher *m = NULL;
		struct profile *p = fixture_profile("x 1\n");
		struct counts c = { 0 };
		uint32_t id;
		struct profile_function f = { 0 };
		struct profile_line line = { 0 };
		struct profile_location l = { .mapping = PROFILE_NONE,
					      .n_lines = 1,
					      .lines = &line };
		const int64_t values[] = { 5, 50 };
		struct profile_sample sample = { .values = values };

		assert_int_equal(profile_add_string(p, names[i], strlen(names[i]), &f.name), 0);
		assert_int_equal(profile_add_function(p, &f, &line.function), 0);
		assert_int_equal(profile_add_location(p, &l, &id), 0);
		assert_int_equal(profile_add_stack(p, &id, 1, &sample.stack), 0);
		assert_int_equal(profile_add_sample(p, &sample), 0);
		append_profile(&s, names[i], NOON + (int64_t)i, p);
		profile_free(p);
		assert_int_equal(matcher_new(&m, MATCHER_EQ, "instance", names[i], NULL), 0);
		s.sel.matchers = &m;
		s.sel.n_matchers = 1;
		s.sel.call_site = &names[i];
		s.sel.n_call_site = 1;
		assert_int_equal(
			clickhouse_query_points(s.http, &s.sel, on_series, on_point, &c, NULL), 0);
		assert_int_equal(c.series, 1);
		if (c.sum != 5)
			fail_msg("%s: %s", names[i],
				 fake_clickhouse_last(s.fake, "sum(if(stack IN"));
		s.sel.n_matchers = s.sel.n_call_site = 0;
	}
	end(&s);
}

static void a_tenant_is_in_every_condition(void **state)
{
	struct counts c;
	struct scene s;

	begin(&s);
	append(&s, "a", NOON, "main;f 1\n");
	assert_int_equal(run_all(&s, &c), 0);
	assert_int_equal(c.series, 3);
	s.sel.tenant = "t' OR tenant!='";
	assert_int_equal(run_all(&s, &c), 0);
	assert_int_equal(c.series, 0);
	assert_non_null(strstr(fake_clickhouse_last(s.fake, "FROM cameo_series"),
			       "tenant='t\\' OR tenant!=\\''"));
	end(&s);
}

static void a_range_is_clamped_to_the_days_of_clickhouse(void **state)
{
	struct counts c;
	struct scene s;

	begin(&s);
	append(&s, "a", NOON, "main;f 1\n");
	s.sel.start_ns = INT64_MIN;
	assert_int_equal(run_all(&s, &c), 0);
	assert_int_equal(c.points, 3);
	assert_non_null(strstr(fake_clickhouse_last(s.fake, "FROM cameo_series"),
			       "day BETWEEN toDate(0) AND toDate(65535)"));
	end(&s);
}

static void many_series_are_selected_in_batches(void **state)
{
	enum { N = 4100 };
	_cleanup_(profile_freep) struct profile *p = threads_profile(N);
	struct counts c = { 0 };
	struct scene s;
	int64_t total;

	begin(&s);
	append_profile(&s, "a", NOON, p);
	assert_int_equal(clickhouse_query_series(s.http, &s.sel, on_series, &c, NULL), 0);
	/* One more without a thread. */
	assert_int_equal(c.series, N + 1);
	assert_int_equal(fake_clickhouse_count(s.fake, "SELECT DISTINCT series"), 2);
	assert_int_equal(merge(&s, &total), 0);
	assert_int_equal(total, N + 2);
	end(&s);
}

static const char *const statements[] = {
	"FROM cameo_series",           "SELECT frame, name",   "SELECT stack, frames",
	"SELECT stack, sum(",          "SELECT count(), sum(", "SELECT DISTINCT series",
	"SELECT series, time, t",      "sum(if(stack IN",      "SELECT time, totals",
	"SELECT series, time, period",
};

static void an_error_of_any_statement_is_returned(void **state)
{
	_cleanup_(profile_freep) struct profile *p = threads_profile(1);
	struct counts c;
	struct scene s;

	begin(&s);
	append_profile(&s, "a", NOON, p);
	assert_int_equal(run_all(&s, &c), 0);
	assert_int_equal(c.times, 1);
	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
		fake_clickhouse_fail(s.fake, statements[i], 500, "Code: 159. late", 0);
		assert_int_equal(run_all(&s, &c), -ETIMEDOUT);
		assert_string_equal(s.err.msg, "ClickHouse: Code: 159. late");
	}
	end(&s);
}

static void rows_that_are_cut_anywhere_are_refused(void **state)
{
	_cleanup_(profile_freep) struct profile *p = threads_profile(1);
	struct counts c;
	struct scene s;

	begin(&s);
	append_profile(&s, "a", NOON, p);
	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
		size_t refused = 0;

		for (size_t len = 1; len < 40; len++) {
			int r;

			fake_clickhouse_truncate(s.fake, statements[i], len);
			r = run_all(&s, &c);
			/* Where the cut is between two rows, it cannot be noticed here. */
			assert_true(r == 0 || r == -EIO);
			if (r == -EIO)
				assert_string_equal(s.err.msg,
						    "ClickHouse returned malformed rows");
			refused += r == -EIO;
		}
		assert_true(refused > 6);
	}
	end(&s);
}

static void a_series_that_was_not_selected_is_refused(void **state)
{
	/* A hash, a time and a value; NUL cannot be in the text of the model. */
	static const char row[] = "12345678"
				  "abcdefgh"
				  "ABCDEFGH";
	char hash[9] = "12345678";
	struct counts c = { 0 };
	struct scene s;

	begin(&s);
	append(&s, "a", NOON, "main;f 1\n");
	fake_clickhouse_fail(s.fake, "SELECT DISTINCT series", 200, hash, 0);
	assert_int_equal(clickhouse_query_series(s.http, &s.sel, on_series, &c, NULL), -EIO);
	fake_clickhouse_fail(s.fake, "SELECT series, time, t", 200, row, 0);
	assert_int_equal(clickhouse_query_points(s.http, &s.sel, on_series, on_point, &c, NULL),
			 -EIO);
	assert_int_equal(c.series + c.points, 0);
	end(&s);
}

static void a_window_that_was_inserted_twice_counts_once(void **state)
{
	_cleanup_(profile_freep) struct profile *p = fixture_profile("main;f 7\n");
	const struct store_profile sp = {
		.name = "process_cpu", .time_ns = NOON, .id = "id", .profile = p
	};
	struct counts c = { 0 };
	struct scene s;
	int64_t total;

	begin(&s);
	for (int i = 0; i < 2; i++)
		assert_int_equal(clickhouse_writer_append(s.w, "t", &sp, 1, NULL), 0);
	assert_int_equal(fake_clickhouse_rows(s.fake, "windows"), 2);
	assert_int_equal(merge(&s, &total), 0);
	assert_int_equal(total, 7);
	assert_int_equal(clickhouse_query_points(s.http, &s.sel, on_series, on_point, &c, NULL), 0);
	assert_int_equal(c.points, 1);
	end(&s);
}

TEST_GROUP(test_clickhouse_query, TEST(texts_of_clients_stay_in_their_quotes),
	   TEST(a_tenant_is_in_every_condition), TEST(a_range_is_clamped_to_the_days_of_clickhouse),
	   TEST(many_series_are_selected_in_batches), TEST(an_error_of_any_statement_is_returned),
	   TEST(rows_that_are_cut_anywhere_are_refused),
	   TEST(a_series_that_was_not_selected_is_refused),
	   TEST(a_window_that_was_inserted_twice_counts_once))
