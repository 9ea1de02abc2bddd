/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A query first fetches the series in its range, so that label conditions have the same semantics
 * as in the SQLite store. It then selects the matching series by their hashes, a few thousand per
 * statement. A window that was inserted twice has the same key and counts once. ClickHouse computes
 * the sums, so values beyond 64 bits wrap.
 *
 * Labels are not matched in SQL: a missing label must match like an empty one, derived labels
 * (__profile_type__) are not stored, and ClickHouse's RE2 differs from PCRE2 in look-around and in
 * its treatment of invalid UTF-8. The number of series is small compared with that of windows, so
 * fetching them costs little. An = condition is still passed on, as a filter that may only select
 * too many. Every text from a client reaches SQL through sql_put_string(); all other parts are
 * numbers and constants. Rows that ClickHouse returns are parsed as untrusted input, because
 * another program may listen on the configured port: lengths are checked, and a series that was not
 * selected is an error. Only clickhouse_query_merge() accumulates across batches; all other
 * operations report a batch before the next one is requested.
 */
#include "store/clickhouse/clickhouse_query.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/saturate.h"
#include "base/vec.h"
#include "flame/merged_stacks.h"
#include "flame/stack_dict.h"
#include "store/clickhouse/clickhouse_http.h"
#include "store/clickhouse/clickhouse_stacks.h"
#include "store/clickhouse/row_binary.h"
#include "store/matcher.h"
#include "store/sample_times.h"
#include "store/series.h"
#include "store/store.h"
#include "store/timed_samples.h"
#include "store/window.h"

enum { SERIES_PER_STATEMENT = 4000, MAX_TEXTS = 256 };

struct selected {
	uint64_t hash;
	uint32_t series, type; /* series: id in the dictionary */
};

/*
 * The state of one query. sel, http and err are borrowed. from_ns is earlier than sel->start_ns
 * only when samples are requested, since a window that began before the range may have samples in
 * it.
 */
struct query {
	struct clickhouse_http *http;
	const struct store_select *sel;
	int64_t from_ns;
	struct err *err;
	struct stack_dict *dict; /* of the series */
	struct series_view view;
	struct {
		VEC(struct selected);
	} selected; /* by type, then by hash */
	struct buf sql, response;
	struct wire rows; /* the part of the response not yet read */
};

static void query_fini(struct query *q)
{
	stack_dict_free(q->dict);
	series_view_fini(&q->view);
	vec_fini(&q->selected);
	buf_fini(&q->sql);
	buf_fini(&q->response);
}

/* Runs the statement in sql. On success the result is in rows. */
static int run(struct query *q)
{
	int r;

	q->response.len = 0;
	buf_put_str(&q->sql, " FORMAT RowBinary");
	r = clickhouse_http_run(q->http, &q->sql, q->sel, &q->response, q->err);
	q->rows = wire_of(q->response.data, q->response.len);
	q->sql.len = 0;
	return r;
}

static int check_rows(struct query *q, int r)
{
	return r == -EBADMSG ? err_set(q->err, -EIO, "ClickHouse returned malformed rows") : r;
}

/*
 * A Date of ClickHouse holds 16 bits of days since 1970. Ranges of clients may be far wider
 * ("everything" ends at INT64_MAX), so they are clamped instead of refused.
 */
static int64_t clamp_day(int64_t time_ns)
{
	int64_t day = store_day_of(time_ns);

	return day < 0 ? 0 : day > UINT16_MAX ? UINT16_MAX : day;
}

/*
 * Appends " WHERE" and the conditions that all tables share. The day condition lets ClickHouse skip
 * all other partitions; the tenant is the first column of every table's order and is never omitted,
 * because it is the only thing that separates tenants here.
 */
static void put_days(struct query *q)
{
	buf_put_str(&q->sql, " WHERE tenant=");
	sql_put_string(&q->sql, q->sel->tenant);
	buf_printf(&q->sql, " AND day BETWEEN toDate(%" PRId64 ") AND toDate(%" PRId64 ")",
		   clamp_day(q->from_ns), clamp_day(q->sel->end_ns));
}

/*
 * Restricts the series to fetch: the value of each = condition must be among a series' texts.
 * Labels that begin with "__" are derived (store/series.c) and not stored. The filter compares with
 * every text of the series, not with the value of that label, because texts are stored without
 * their positions. Too many series may pass, and series_view_matches() decides. An empty value is
 * not passed on: it also matches series without the label.
 */
static void put_texts(struct query *q)
{
	for (size_t i = 0; i < q->sel->n_matchers; i++) {
		const struct matcher *m = q->sel->matchers[i];

		if (matcher_op(m) != MATCHER_EQ || !matcher_value(m)[0] ||
		    !strncmp(matcher_name(m), "__", 2))
			continue;
		buf_put_str(&q->sql, " AND has(texts,");
		sql_put_string(&q->sql, matcher_value(m));
		buf_put_str(&q->sql, ")");
	}
}

/*
 * Reads one row of (series, texts, n_types) and adds it to the dictionary. The number of sample
 * types is a column of its own, so it is inserted at its place among the words (store/series.h).
 * MAX_TEXTS bounds the array on the stack; series_add() checks the words themselves.
 */
static int read_series(struct query *q, uint64_t *out_hash, uint32_t *out_id)
{
	uint32_t words[MAX_TEXTS + 1];
	size_t n = 0, at = 0;
	int r = row_binary_read_u64(&q->rows, out_hash);

	if (r == 0)
		r = row_binary_read_array(&q->rows, 1, &n);
	if (r == 0 && n > MAX_TEXTS)
		r = -EBADMSG;
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct wire text;

		at += at == SERIES_WORD_N_TYPES;
		r = row_binary_read_bytes(&q->rows, &text);
		if (r == 0)
			r = stack_dict_add_string(q->dict, (const char *)text.p, wire_len(text),
						  &words[at++]);
	}
	if (r == 0 && n < SERIES_WORD_N_TYPES)
		r = -EBADMSG;
	if (r == 0)
		r = row_binary_read_u32(&q->rows, &words[SERIES_WORD_N_TYPES]);
	return r < 0 ? r : series_add(q->dict, words, n + 1, out_id);
}

/*
 * Selects each sample type of a series that matches. A series with several types can match with
 * some, because __type__ and __unit__ are labels like all others.
 */
static int select_types(struct query *q, uint64_t hash, uint32_t series)
{
	const struct store_select *sel = q->sel;
	int r = 0;

	for (uint32_t k = 0; r == 0 && k < series_n_types(q->dict, series); k++) {
		if (sel->type && !series_is(q->dict, series, k, sel->type))
			continue;
		r = series_view(&q->view, q->dict, series, k);
		if (r == 0 && series_view_matches(&q->view, sel->matchers, sel->n_matchers))
			r = vec_push(&q->selected, (struct selected){ hash, series, k });
	}
	return r;
}

static int cmp_selected(const void *a, const void *b)
{
	const struct selected *x = a, *y = b;

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static int select_series(struct query *q)
{
	int r = stack_dict_new(&q->dict);

	if (r < 0)
		return r;
	buf_put_str(&q->sql, "SELECT series, texts, n_types FROM cameo_series");
	put_days(q);
	put_texts(q);
	buf_put_str(&q->sql, " LIMIT 1 BY series");
	r = run(q);
	while (r == 0 && wire_len(q->rows)) {
		uint64_t hash;
		uint32_t id;

		r = read_series(q, &hash, &id);
		if (r == 0)
			r = select_types(q, hash, id);
	}
	if (r == 0 && q->selected.len)
		qsort(q->selected.data, q->selected.len, sizeof(*q->selected.data), cmp_selected);
	return check_rows(q, r);
}

/* A batch of selected series of one sample type. */
struct batch {
	const struct selected *chosen;
	size_t n;
	uint32_t type;
};

typedef int (*batch_fn)(struct query *q, const struct batch *p, void *ctx);

/*
 * Calls @fn for runs of at most SERIES_PER_STATEMENT selected series of one sample type. The list
 * is sorted by type, since the type chooses the slice of the values and thus the statement. 4000
 * hashes of up to 20 digits take 84 KB, far below the limit of a statement.
 */
static int each_batch(struct query *q, batch_fn fn, void *ctx)
{
	int r = 0;

	for (size_t i = 0, n; r == 0 && i < q->selected.len; i += n) {
		const struct selected *c = &q->selected.data[i];

		for (n = 1;
		     n < SERIES_PER_STATEMENT && i + n < q->selected.len && c[n].type == c->type;)
			n++;
		r = fn(q, &(struct batch){ c, n, c->type }, ctx);
	}
	return check_rows(q, r);
}

/* Appends the FROM clause that selects the batch's windows in the range. */
static void put_windows(struct query *q, const struct batch *p)
{
	buf_put_str(&q->sql, " FROM cameo_windows");
	put_days(q);
	buf_printf(&q->sql, " AND time BETWEEN %" PRId64 " AND %" PRId64 " AND series IN (",
		   q->from_ns, q->sel->end_ns);
	for (size_t i = 0; i < p->n; i++)
		buf_printf(&q->sql, "%s%" PRIu64, i ? "," : "", p->chosen[i].hash);
	buf_put_str(&q->sql, ")");
	for (size_t i = 0; i < q->sel->n_ids; i++)
		buf_printf(&q->sql, "%s%" PRId64, i ? "," : " AND id IN (",
			   window_id_hash(q->sel->ids[i]));
	if (q->sel->n_ids)
		buf_put_str(&q->sql, ")");
}

/* Appends the expression for the values of the batch's sample type. */
static void put_values(struct query *q, const struct batch *p)
{
	buf_printf(&q->sql, "arraySlice(values, %" PRIu32 " * length(stacks) + 1, length(stacks))",
		   p->type);
}

/*
 * ReplacingMergeTree removes duplicate rows only when it merges parts, at a time of its own choice.
 * Until then a window that was inserted twice is there twice; this clause counts it once, whether
 * or not the parts were merged. FINAL would do the same but reads in one thread in older releases.
 */
static const char once[] = " LIMIT 1 BY series, key";

/*
 * Fetches the frames and stacks of the batch's windows. Frames are fetched first. A frame is
 * inserted before the stacks that use it, so a stack that is found here normally has all its
 * frames.
 */
static int fetch_stacks(struct query *q, const struct batch *p, struct clickhouse_stacks *out)
{
	int r;

	buf_put_str(&q->sql, "SELECT frame, name, file, binary, line, kind FROM cameo_frames");
	put_days(q);
	buf_put_str(&q->sql, " AND frame IN (SELECT arrayJoin(frames) FROM cameo_stacks");
	put_days(q);
	buf_put_str(&q->sql, " AND stack IN (SELECT arrayJoin(stacks)");
	put_windows(q, p);
	buf_put_str(&q->sql, ")) LIMIT 1 BY frame");
	r = run(q);
	if (r == 0)
		r = clickhouse_stacks_add_frames(out, q->rows);
	if (r < 0)
		return r;
	buf_put_str(&q->sql, "SELECT stack, frames FROM cameo_stacks");
	put_days(q);
	buf_put_str(&q->sql, " AND stack IN (SELECT arrayJoin(stacks)");
	put_windows(q, p);
	buf_put_str(&q->sql, ") LIMIT 1 BY stack");
	r = run(q);
	return r < 0 ? r : clickhouse_stacks_add_stacks(out, q->rows);
}

/*
 * Adds the number of windows, their durations and a period. The period is that of the first window
 * by time, as in the SQLite store; profiles of one series that differ in it are rare.
 */
static int merge_windows(struct query *q, const struct batch *p, struct merged_stacks *out)
{
	uint64_t n_windows = 0;
	int64_t duration = 0, period = 0;
	int r;

	buf_put_str(&q->sql, "SELECT count(), sum(duration), argMin(period, time) FROM"
			     " (SELECT duration, period, time");
	put_windows(q, p);
	buf_printf(&q->sql, "%s)", once);
	r = run(q);
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

static int merge_batch(struct query *q, const struct batch *p, void *ctx)
{
	struct clickhouse_stacks *stacks = ctx;
	int r = fetch_stacks(q, p, stacks);

	if (r < 0)
		return r;
	buf_put_str(&q->sql, "SELECT stack, sum(value) FROM (SELECT stacks, ");
	put_values(q, p);
	buf_put_str(&q->sql, " AS v");
	put_windows(q, p);
	buf_printf(&q->sql, "%s) ARRAY JOIN stacks AS stack, v AS value GROUP BY stack", once);
	r = run(q);
	while (r == 0 && wire_len(q->rows)) {
		uint64_t stack = 0;
		uint32_t node = 0;
		int64_t value = 0;

		r = row_binary_read_u64(&q->rows, &stack);
		if (r == 0)
			r = row_binary_read_i64(&q->rows, &value);
		if (r == 0)
			r = clickhouse_stacks_node(stacks, stack, &node);
		if (r == 0)
			r = merged_stacks_add_value(stacks->to, node, value);
	}
	return r < 0 ? r : merge_windows(q, p, stacks->to);
}

static struct query query_of(struct clickhouse_http *h, const struct store_select *sel,
			     struct err *err)
{
	return (struct query){ .http = h, .sel = sel, .from_ns = sel->start_ns, .err = err };
}

int clickhouse_query_merge(struct clickhouse_http *h, const struct store_select *sel,
			   struct merged_stacks *out, struct err *err)
{
	_cleanup_(query_fini) struct query q = query_of(h, sel, err);
	_cleanup_(clickhouse_stacks_fini) struct clickhouse_stacks stacks = { 0 };
	_cleanup_(merged_stacks_freep) struct merged_stacks *all = NULL;
	int r = merged_stacks_new(&all);

	stacks.to = all;
	if (r == 0) {
		all->max_nodes = out->max_nodes = sel->max_nodes;
		r = select_series(&q);
	}
	if (r == 0)
		r = each_batch(&q, merge_batch, &stacks);
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

static int emit_series(struct query *q, const struct selected *c, const struct emitter *t)
{
	int r = series_view(&q->view, q->dict, c->series, c->type);

	return r < 0 ? r : t->series(t->ctx, q->view.labels.data, q->view.labels.len);
}

static const struct selected *find_selected(const struct batch *p, uint64_t hash)
{
	const struct selected key = { .hash = hash, .type = p->type };

	return bsearch(&key, p->chosen, p->n, sizeof(key), cmp_selected);
}

/*
 * Reports each selected series that has a window in the range. A hash that was not selected cannot
 * be in the result, so it means that the response does not belong to this statement.
 */
static int series_of_batch(struct query *q, const struct batch *p, void *ctx)
{
	int r;

	buf_put_str(&q->sql, "SELECT DISTINCT series");
	put_windows(q, p);
	r = run(q);
	while (r == 0 && wire_len(q->rows)) {
		const struct selected *c;
		uint64_t hash = 0;

		r = row_binary_read_u64(&q->rows, &hash);
		if (r < 0)
			return r;
		c = find_selected(p, hash);
		r = c ? emit_series(q, c, ctx) : -EBADMSG;
	}
	return r;
}

int clickhouse_query_series(struct clickhouse_http *h, const struct store_select *sel,
			    store_series_fn fn, void *ctx, struct err *err)
{
	_cleanup_(query_fini) struct query q = query_of(h, sel, err);
	struct emitter t = { .series = fn, .ctx = ctx };
	int r = select_series(&q);

	return r < 0 ? r : each_batch(&q, series_of_batch, &t);
}

/*
 * Appends the condition that a stack begins with the call site's names, root first. Frames are
 * compared by name at their positions, root first, which is what Pyroscope's callSite means. Arrays
 * of ClickHouse are indexed from 1.
 */
static void put_call_site(struct query *q)
{
	buf_put_str(&q->sql, "stack IN (SELECT stack FROM cameo_stacks");
	put_days(q);
	buf_printf(&q->sql, " AND length(frames) >= %zu", q->sel->n_call_site);
	for (size_t i = 0; i < q->sel->n_call_site; i++) {
		buf_printf(&q->sql, " AND frames[%zu] IN (SELECT frame FROM cameo_frames", i + 1);
		put_days(q);
		buf_put_str(&q->sql, " AND name=");
		sql_put_string(&q->sql, q->sel->call_site[i]);
		buf_put_str(&q->sql, ")");
	}
	buf_put_str(&q->sql, ")");
}

static void put_points(struct query *q, const struct batch *p)
{
	if (!q->sel->n_call_site) {
		buf_printf(&q->sql, "SELECT series, time, totals[%" PRIu32 "]", p->type + 1);
		put_windows(q, p);
		buf_printf(&q->sql, " ORDER BY series, time%s", once);
		return;
	}
	buf_put_str(&q->sql, "SELECT series, time, sum(if(");
	put_call_site(q);
	buf_put_str(&q->sql, ", value, 0)) FROM (SELECT series, time, key, stacks, ");
	put_values(q, p);
	buf_put_str(&q->sql, " AS v");
	put_windows(q, p);
	buf_printf(&q->sql,
		   "%s) ARRAY JOIN stacks AS stack, v AS value"
		   " GROUP BY series, time, key ORDER BY series, time",
		   once);
}

/*
 * Rows arrive sorted by series, so a series is reported when its hash changes, and its points
 * follow.
 */
static int points_of_batch(struct query *q, const struct batch *p, void *ctx)
{
	const struct emitter *t = ctx;
	const struct selected *c = NULL;
	int r;

	put_points(q, p);
	r = run(q);
	while (r == 0 && wire_len(q->rows)) {
		struct store_point point = { 0 };
		uint64_t hash = 0;

		r = row_binary_read_u64(&q->rows, &hash);
		if (r == 0)
			r = row_binary_read_i64(&q->rows, &point.time_ns);
		if (r == 0)
			r = row_binary_read_i64(&q->rows, &point.value);
		if (r == 0 && (!c || c->hash != hash)) {
			c = find_selected(p, hash);
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
	_cleanup_(query_fini) struct query q = query_of(h, sel, err);
	struct emitter t = { .series = series, .point = point, .ctx = ctx };
	int r = select_series(&q);

	return r < 0 ? r : each_batch(&q, points_of_batch, &t);
}

static int sample_times_of_batch(struct query *q, const struct batch *p, void *ctx)
{
	struct emitter *t = ctx;
	int r;

	buf_printf(&q->sql, "SELECT time, totals[%" PRIu32 "], times", p->type + 1);
	put_windows(q, p);
	buf_put_str(&q->sql, once);
	r = run(q);
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
	_cleanup_(query_fini) struct query q = query_of(h, sel, err);
	struct emitter t = { .times = fn, .ctx = ctx };
	int r = select_series(&q);

	if (r == 0)
		r = each_batch(&q, sample_times_of_batch, &t);
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
static int read_counts(struct query *q, struct sample_query *g)
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

static int read_window(struct query *q, struct sample_query *g)
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

static int samples_of_batch(struct query *q, const struct batch *p, void *ctx)
{
	struct sample_query *g = ctx;
	int r = fetch_stacks(q, p, &g->stacks);

	if (r < 0)
		return r;
	buf_put_str(&q->sql, "SELECT series, time, period, stacks, ");
	put_values(q, p);
	buf_put_str(&q->sql, ", times, owners");
	put_windows(q, p);
	buf_printf(&q->sql, " AND notEmpty(times)%s", once);
	r = run(q);
	while (r == 0 && wire_len(q->rows)) {
		const struct selected *c = NULL;
		struct timed_samples_series series;
		uint64_t hash = 0;

		r = row_binary_read_u64(&q->rows, &hash);
		if (r == 0)
			r = read_window(q, g);
		if (r == 0 && !(c = find_selected(p, hash)))
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
	_cleanup_(query_fini) struct query q = query_of(h, sel, err);
	_cleanup_(sample_query_fini) struct sample_query g = { .out = out };
	_cleanup_(merged_stacks_freep) struct merged_stacks *all = NULL;
	_cleanup_(freep) uint32_t *nodes = NULL;
	int r = merged_stacks_new(&all);

	g.stacks.to = all;
	q.from_ns = sel->start_ns < before_ns ? 0 : sel->start_ns - before_ns;
	if (r == 0)
		r = select_series(&q);
	if (r == 0)
		r = each_batch(&q, samples_of_batch, &g);
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
