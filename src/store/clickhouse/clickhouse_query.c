/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statements of each query, on series that were selected before (clickhouse_select.h). A window
 * that was inserted twice has the same key and counts once. ClickHouse computes the sums, which
 * wrap beyond 64 bits; sums of the values without signs, as floating-point numbers, show whether
 * they may have.
 *
 * Rows that ClickHouse returns are parsed as untrusted input, because another program may listen on
 * the configured port: lengths are checked, and a series that was not selected is an error. Only
 * clickhouse_query_merge() accumulates across batches; all other operations report a batch before
 * the next one is requested.
 */
#include "store/clickhouse/clickhouse_query.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/saturate.h"
#include "base/vec.h"
#include "flame/merged_stacks.h"
#include "flame/stack_dict.h"
#include "store/clickhouse/clickhouse_http.h"
#include "store/clickhouse/clickhouse_select.h"
#include "store/clickhouse/clickhouse_stacks.h"
#include "store/clickhouse/row_binary.h"
#include "store/sample_times.h"
#include "store/series.h"
#include "store/store.h"
#include "store/timed_samples.h"

/* Below 2^63 by more than the rounding error of a sum of a million million values. */
static const double SUM_MAX = 9.2e18;

/*
 * Fetches the frames and stacks of the batch's windows. Frames are fetched first. A frame is
 * inserted before the stacks that use it, so a stack that is found here normally has all its
 * frames.
 */
static int fetch_stacks(struct clickhouse_select *q, const struct clickhouse_batch *p,
			struct clickhouse_stacks *out)
{
	int r;

	buf_put_str(&q->sql, "SELECT frame, name, file, binary, line, kind FROM cameo_frames");
	clickhouse_select_put_days(q);
	buf_put_str(&q->sql, " AND frame IN (SELECT arrayJoin(frames) FROM cameo_stacks");
	clickhouse_select_put_days(q);
	buf_put_str(&q->sql, " AND stack IN (SELECT arrayJoin(stacks)");
	clickhouse_select_put_windows(q, p);
	buf_put_str(&q->sql, ")) LIMIT 1 BY frame");
	r = clickhouse_select_run(q);
	if (r == 0)
		r = clickhouse_stacks_add_frames(out, q->rows);
	if (r < 0)
		return r;
	buf_put_str(&q->sql, "SELECT stack, frames FROM cameo_stacks");
	clickhouse_select_put_days(q);
	buf_put_str(&q->sql, " AND stack IN (SELECT arrayJoin(stacks)");
	clickhouse_select_put_windows(q, p);
	buf_put_str(&q->sql, ") LIMIT 1 BY stack");
	r = clickhouse_select_run(q);
	return r < 0 ? r : clickhouse_stacks_add_stacks(out, q->rows);
}

/*
 * Adds the number of windows, their durations and a period. The period is that of the first window
 * by time, as in the SQLite store; profiles of one series that differ in it are rare.
 */
static int merge_windows(struct clickhouse_select *q, const struct clickhouse_batch *p,
			 struct merged_stacks *out)
{
	uint64_t n_windows = 0;
	int64_t duration = 0, period = 0;
	int r;

	buf_put_str(&q->sql, "SELECT count(), sum(duration), argMin(period, time) FROM"
			     " (SELECT duration, period, time");
	clickhouse_select_put_windows(q, p);
	buf_put_str(&q->sql, CLICKHOUSE_ONCE ")");
	r = clickhouse_select_run(q);
	if (r < 0 || !wire_len(q->rows)) /* no row means no windows */
		return r;
	r = row_binary_read_u64(&q->rows, &n_windows);
	if (r == 0)
		r = row_binary_read_i64(&q->rows, &duration);
	if (r == 0)
		r = row_binary_read_i64(&q->rows, &period);
	if (r < 0)
		return r;
	out->period = out->n_windows || !n_windows ? out->period : period;
	out->n_windows += n_windows;
	out->duration_ns = saturating_add(out->duration_ns, duration);
	return 0;
}

static int merge_batch(struct clickhouse_select *q, const struct clickhouse_batch *p, void *ctx)
{
	struct clickhouse_stacks *stacks = ctx;
	int r = fetch_stacks(q, p, stacks);

	if (r < 0)
		return r;
	buf_put_str(&q->sql, "SELECT stack, sum(value), sum(abs(toFloat64(value))) FROM"
			     " (SELECT stacks, ");
	clickhouse_select_put_values(q, p);
	buf_put_str(&q->sql, " AS v");
	clickhouse_select_put_windows(q, p);
	buf_put_str(&q->sql,
		    CLICKHOUSE_ONCE ") ARRAY JOIN stacks AS stack, v AS value GROUP BY stack");
	r = clickhouse_select_run(q);
	while (r == 0 && wire_len(q->rows)) {
		uint64_t stack = 0;
		uint32_t node = 0;
		int64_t value = 0;
		double magnitude = 0;

		r = row_binary_read_u64(&q->rows, &stack);
		if (r == 0)
			r = row_binary_read_i64(&q->rows, &value);
		if (r == 0)
			r = row_binary_read_double(&q->rows, &magnitude);
		if (!(magnitude < SUM_MAX))
			value = INT64_MAX; /* saturated, which store_merge() refuses */
		if (r == 0)
			r = clickhouse_stacks_node(stacks, stack, &node);
		if (r == 0)
			r = merged_stacks_add_value(stacks->to, node, value);
	}
	return r < 0 ? r : merge_windows(q, p, stacks->to);
}

int clickhouse_query_merge(struct clickhouse_http *h, const struct store_select *sel,
			   struct merged_stacks *out, struct err *err)
{
	_cleanup_(clickhouse_select_fini) struct clickhouse_select q =
		clickhouse_select_of(h, sel, err);
	_cleanup_(clickhouse_stacks_fini) struct clickhouse_stacks stacks = { 0 };
	_cleanup_(merged_stacks_freep) struct merged_stacks *all = NULL;
	int r = merged_stacks_new(&all);

	stacks.to = all;
	if (r == 0) {
		all->max_nodes = out->max_nodes = sel->max_nodes;
		r = clickhouse_select_series(&q);
	}
	if (r == 0)
		r = clickhouse_select_each(&q, merge_batch, &stacks);
	if (r < 0)
		return r;
	out->n_windows = all->n_windows;
	out->duration_ns = all->duration_ns;
	out->period = all->period;
	return merged_stacks_add(out, all->dict, all->self, all->n, sel->names_only);
}

struct emitter {
	store_series_fn series;
	store_point_fn point;
	store_sample_times_fn times;
	void *ctx;
	struct sample_times room;
};

static int emit_series(struct clickhouse_select *q, const struct clickhouse_selected *c,
		       const struct emitter *t)
{
	int r = series_view(&q->view, q->dict, c->series, c->type);

	return r < 0 ? r : t->series(t->ctx, q->view.labels.data, q->view.labels.len);
}

/*
 * Reports each selected series that has a window in the range. A hash that was not selected cannot
 * be in the result, so it means that the response does not belong to this statement.
 */
static int series_of_batch(struct clickhouse_select *q, const struct clickhouse_batch *p, void *ctx)
{
	int r;

	buf_put_str(&q->sql, "SELECT DISTINCT series");
	clickhouse_select_put_windows(q, p);
	r = clickhouse_select_run(q);
	while (r == 0 && wire_len(q->rows)) {
		const struct clickhouse_selected *c;
		uint64_t hash = 0;

		r = row_binary_read_u64(&q->rows, &hash);
		if (r < 0)
			return r;
		c = clickhouse_select_find(p, hash);
		r = c ? emit_series(q, c, ctx) : -EBADMSG;
	}
	return r;
}

int clickhouse_query_series(struct clickhouse_http *h, const struct store_select *sel,
			    store_series_fn fn, void *ctx, struct err *err)
{
	_cleanup_(clickhouse_select_fini) struct clickhouse_select q =
		clickhouse_select_of(h, sel, err);
	struct emitter t = { .series = fn, .ctx = ctx };
	int r = clickhouse_select_series(&q);

	return r < 0 ? r : clickhouse_select_each(&q, series_of_batch, &t);
}

/*
 * Appends the condition that a stack begins with the call site's names, root first. Frames are
 * compared by name at their positions, root first, which is what Pyroscope's callSite means. Arrays
 * of ClickHouse are indexed from 1.
 */
static void put_call_site(struct clickhouse_select *q)
{
	buf_put_str(&q->sql, "stack IN (SELECT stack FROM cameo_stacks");
	clickhouse_select_put_days(q);
	buf_printf(&q->sql, " AND length(frames) >= %zu", q->sel->n_call_site);
	for (size_t i = 0; i < q->sel->n_call_site; i++) {
		buf_printf(&q->sql, " AND frames[%zu] IN (SELECT frame FROM cameo_frames", i + 1);
		clickhouse_select_put_days(q);
		buf_put_str(&q->sql, " AND name=");
		sql_put_string(&q->sql, q->sel->call_site[i]);
		buf_put_str(&q->sql, ")");
	}
	buf_put_str(&q->sql, ")");
}

static void put_points(struct clickhouse_select *q, const struct clickhouse_batch *p)
{
	if (!q->sel->n_call_site) {
		buf_printf(&q->sql, "SELECT series, time, totals[%" PRIu32 "]", p->type + 1);
		clickhouse_select_put_windows(q, p);
		buf_put_str(&q->sql, " ORDER BY series, time" CLICKHOUSE_ONCE);
		return;
	}
	buf_put_str(&q->sql, "SELECT series, time, sum(if(");
	put_call_site(q);
	buf_put_str(&q->sql, ", value, 0)) FROM (SELECT series, time, key, stacks, ");
	clickhouse_select_put_values(q, p);
	buf_put_str(&q->sql, " AS v");
	clickhouse_select_put_windows(q, p);
	buf_put_str(&q->sql, CLICKHOUSE_ONCE ") ARRAY JOIN stacks AS stack, v AS value"
					     " GROUP BY series, time, key ORDER BY series, time");
}

/*
 * Rows arrive sorted by series, so a series is reported when its hash changes, and its points
 * follow.
 */
static int points_of_batch(struct clickhouse_select *q, const struct clickhouse_batch *p, void *ctx)
{
	const struct emitter *t = ctx;
	const struct clickhouse_selected *c = NULL;
	int r;

	put_points(q, p);
	r = clickhouse_select_run(q);
	while (r == 0 && wire_len(q->rows)) {
		struct store_point point = { 0 };
		uint64_t hash = 0;

		r = row_binary_read_u64(&q->rows, &hash);
		if (r == 0)
			r = row_binary_read_i64(&q->rows, &point.time_ns);
		if (r == 0)
			r = row_binary_read_i64(&q->rows, &point.value);
		if (r == 0 && (!c || c->hash != hash)) {
			c = clickhouse_select_find(p, hash);
			r = c ? emit_series(q, c, t) : -EBADMSG;
		}
		if (r == 0)
			r = t->point(t->ctx, &point);
	}
	return r;
}

int clickhouse_query_points(struct clickhouse_http *h, const struct store_select *sel,
			    store_series_fn series, store_point_fn point, void *ctx,
			    struct err *err)
{
	_cleanup_(clickhouse_select_fini) struct clickhouse_select q =
		clickhouse_select_of(h, sel, err);
	struct emitter t = { .series = series, .point = point, .ctx = ctx };
	int r = clickhouse_select_series(&q);

	return r < 0 ? r : clickhouse_select_each(&q, points_of_batch, &t);
}

static int sample_times_of_batch(struct clickhouse_select *q, const struct clickhouse_batch *p,
				 void *ctx)
{
	struct emitter *t = ctx;
	int r;

	buf_printf(&q->sql, "SELECT time, totals[%" PRIu32 "], times", p->type + 1);
	clickhouse_select_put_windows(q, p);
	buf_put_str(&q->sql, CLICKHOUSE_ONCE);
	r = clickhouse_select_run(q);
	while (r == 0 && wire_len(q->rows)) {
		struct store_point window = { 0 };
		struct wire times;

		r = row_binary_read_i64(&q->rows, &window.time_ns);
		if (r == 0)
			r = row_binary_read_i64(&q->rows, &window.value);
		if (r == 0)
			r = row_binary_read_bytes(&q->rows, &times);
		if (r == 0)
			r = sample_times_read(&t->room, times.p, wire_len(times), window.time_ns);
		if (r == 0)
			r = t->times(t->ctx, &window, t->room.data, t->room.len);
	}
	return r;
}

int clickhouse_query_sample_times(struct clickhouse_http *h, const struct store_select *sel,
				  store_sample_times_fn fn, void *ctx, struct err *err)
{
	_cleanup_(clickhouse_select_fini) struct clickhouse_select q =
		clickhouse_select_of(h, sel, err);
	struct emitter t = { .times = fn, .ctx = ctx };
	int r = clickhouse_select_series(&q);

	if (r == 0)
		r = clickhouse_select_each(&q, sample_times_of_batch, &t);
	vec_fini(&t.room);
	return r;
}

struct sample_query {
	struct timed_samples *out;
	struct clickhouse_stacks stacks;
	struct sample_times times;
	struct sample_owners owners;
	struct {
		VEC(uint32_t);
	} nodes;
	struct {
		VEC(int64_t);
	} values;
};

static void sample_query_fini(struct sample_query *g)
{
	clickhouse_stacks_fini(&g->stacks);
	vec_fini(&g->times);
	sample_owners_fini(&g->owners);
	vec_fini(&g->nodes);
	vec_fini(&g->values);
}

/*
 * Reads the arrays of stacks and values of one row, which must have the same length. The lengths
 * are bounded by the size of the response.
 */
static int read_counts(struct clickhouse_select *q, struct sample_query *g)
{
	size_t n = 0;
	int r = row_binary_read_array(&q->rows, 8, &n);

	g->nodes.len = g->values.len = 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		uint64_t stack = 0;
		uint32_t node = 0;

		r = row_binary_read_u64(&q->rows, &stack);
		if (r == 0)
			r = clickhouse_stacks_node(&g->stacks, stack, &node);
		if (r == 0)
			r = vec_push(&g->nodes, node);
	}
	if (r == 0)
		r = row_binary_read_array(&q->rows, 8, &n);
	for (size_t i = 0; r == 0 && i < n; i++) {
		int64_t value = 0;

		r = row_binary_read_i64(&q->rows, &value);
		if (r == 0)
			r = vec_push(&g->values, value);
	}
	return r == 0 && g->values.len != g->nodes.len ? -EBADMSG : r;
}

static int read_window(struct clickhouse_select *q, struct sample_query *g)
{
	struct wire times = { 0 }, owners = { 0 };
	int64_t time_ns = 0;
	int r = row_binary_read_i64(&q->rows, &time_ns);

	if (r == 0)
		r = row_binary_read_i64(&q->rows, &g->out->stacks->period);
	if (r == 0)
		r = read_counts(q, g);
	if (r == 0)
		r = row_binary_read_bytes(&q->rows, &times);
	if (r == 0)
		r = row_binary_read_bytes(&q->rows, &owners);
	if (r == 0)
		r = sample_times_read(&g->times, times.p, wire_len(times), time_ns);
	return r < 0 ? r
		     : sample_times_read_owners(&g->owners, owners.p, wire_len(owners),
						g->times.len, g->nodes.len);
}

static int samples_of_batch(struct clickhouse_select *q, const struct clickhouse_batch *p,
			    void *ctx)
{
	struct sample_query *g = ctx;
	int r = fetch_stacks(q, p, &g->stacks);

	if (r < 0)
		return r;
	buf_put_str(&q->sql, "SELECT series, time, period, stacks, ");
	clickhouse_select_put_values(q, p);
	buf_put_str(&q->sql, ", times, owners");
	clickhouse_select_put_windows(q, p);
	buf_put_str(&q->sql, " AND notEmpty(times)" CLICKHOUSE_ONCE);
	r = clickhouse_select_run(q);
	while (r == 0 && wire_len(q->rows)) {
		const struct clickhouse_selected *c = NULL;
		struct timed_samples_series series;
		uint64_t hash = 0;

		r = row_binary_read_u64(&q->rows, &hash);
		if (r == 0)
			r = read_window(q, g);
		if (r == 0 && !(c = clickhouse_select_find(p, hash)))
			r = -EBADMSG;
		if (r == 0)
			r = series_view(&q->view, q->dict, c->series, c->type);
		if (r < 0)
			return r;
		series = timed_samples_series_of(q->view.labels.data, q->view.labels.len);
		r = timed_samples_add(g->out, &series,
				      &(struct timed_samples_window){ .times_ns = g->times.data,
								      .owners = &g->owners,
								      .nodes = g->nodes.data,
								      .values = g->values.data,
								      .n_rows = g->nodes.len },
				      q->sel->start_ns, q->sel->end_ns);
	}
	return r;
}

/*
 * Samples are collected with nodes of a private set of stacks, because a failure must not leave
 * half a result in @out->stacks; at the end the stacks are added to the caller's and the nodes
 * renumbered.
 */
int clickhouse_query_samples(struct clickhouse_http *h, const struct store_select *sel,
			     int64_t before_ns, struct timed_samples *out, struct err *err)
{
	_cleanup_(clickhouse_select_fini) struct clickhouse_select q =
		clickhouse_select_of(h, sel, err);
	_cleanup_(sample_query_fini) struct sample_query g = { .out = out };
	_cleanup_(merged_stacks_freep) struct merged_stacks *all = NULL;
	_cleanup_(freep) uint32_t *nodes = NULL;
	int r = merged_stacks_new(&all);

	g.stacks.to = all;
	q.from_ns = sel->start_ns < before_ns ? 0 : sel->start_ns - before_ns;
	if (r == 0)
		r = clickhouse_select_series(&q);
	if (r == 0)
		r = clickhouse_select_each(&q, samples_of_batch, &g);
	if (r == -EFBIG)
		err_set(err, r, "the range has more than %d samples; use a shorter range",
			TIMED_SAMPLES_MAX);
	for (size_t i = 0; r == 0 && i < out->all.len; i++)
		r = merged_stacks_add_value(all, out->all.data[i].node, out->all.data[i].value);
	if (r == 0)
		r = merged_stacks_add_mapped(out->stacks, all->dict, all->self, all->n, &nodes);
	if (r == 0)
		timed_samples_map_nodes(out, 0, nodes);
	return r;
}
