/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The series in the range are fetched, so that conditions on labels are the same as in
 * the other store; then what is asked of those that match, by their hashes, some
 * thousands a statement. A window that was inserted twice has the same key and counts
 * once. Sums are ClickHouse's, and what overflows 64 bits wraps there.
 */
#include "store/click_ask.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"
#include "store/click_http.h"
#include "store/click_rows.h"
#include "store/click_stacks.h"
#include "store/files.h"
#include "store/matcher.h"
#include "store/moments.h"
#include "store/series.h"
#include "store/stacks.h"
#include "store/symbols.h"
#include "store/times.h"
#include "store/window.h"

enum { AT_ONCE = 4000, MAX_TEXTS = 256 };

struct chosen {
	uint64_t hash;
	uint32_t series, type; /* series: of the symbols */
};

struct asking {
	struct click_http *http;
	const struct store_select *sel;
	int64_t from_ns;
	struct err *err;
	struct symbols *symbols; /* of the series */
	struct series_view view;
	struct {
		VEC(struct chosen);
	} chosen; /* by type, then by hash */
	struct buf sql, answer;
	struct wire rows; /* of the answer, what is left */
};

static void asking_fini(struct asking *a)
{
	symbols_free(a->symbols);
	series_view_fini(&a->view);
	vec_fini(&a->chosen);
	buf_fini(&a->sql);
	buf_fini(&a->answer);
}

/* Run what is in sql; 0 and there are rows to read. */
static int run(struct asking *a)
{
	int r;

	a->answer.len = 0;
	buf_put_str(&a->sql, " FORMAT RowBinary");
	r = click_http_run(a->http, &a->sql, a->sel->deadline_ns, &a->answer, a->err);
	a->rows = wire_of(a->answer.data, a->answer.len);
	a->sql.len = 0;
	return r;
}

static int damaged(struct asking *a, int r)
{
	return r == -EBADMSG ? err_set(a->err, -EIO, "ClickHouse answers what was not asked") : r;
}

/* Choosing series */

static int64_t day_number(int64_t time_ns)
{
	int64_t day = files_day(time_ns);

	return day < 0 ? 0 : day > UINT16_MAX ? UINT16_MAX : day;
}

/* " WHERE" and what holds for all tables. */
static void put_days(struct asking *a)
{
	buf_put_str(&a->sql, " WHERE tenant=");
	click_put_text(&a->sql, a->sel->tenant);
	buf_printf(&a->sql, " AND day BETWEEN toDate(%" PRId64 ") AND toDate(%" PRId64 ")",
		   day_number(a->from_ns), day_number(a->sel->end_ns));
}

/* Fewer to fetch: what a series must have among its texts. Names that begin so are made here. */
static void put_texts(struct asking *a)
{
	for (size_t i = 0; i < a->sel->n_matchers; i++) {
		const struct matcher *m = a->sel->matchers[i];

		if (matcher_op(m) != MATCHER_EQ || !matcher_value(m)[0] ||
		    !strncmp(matcher_name(m), "__", 2))
			continue;
		buf_put_str(&a->sql, " AND has(texts,");
		click_put_text(&a->sql, matcher_value(m));
		buf_put_str(&a->sql, ")");
	}
}

static int read_series(struct asking *a, uint64_t *out_hash, uint32_t *out_id)
{
	uint32_t words[MAX_TEXTS + 1];
	size_t n = 0, at = 0;
	int r = click_u64(&a->rows, out_hash);

	if (r == 0)
		r = click_array(&a->rows, 1, &n);
	if (r == 0 && n > MAX_TEXTS)
		r = -EBADMSG;
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct wire text;

		at += at == SERIES_WORD_N_TYPES;
		r = click_bytes(&a->rows, &text);
		if (r == 0)
			r = symbols_add_string(a->symbols, (const char *)text.p, wire_len(text),
					       &words[at++]);
	}
	if (r == 0 && n < SERIES_WORD_N_TYPES)
		r = -EBADMSG;
	if (r == 0)
		r = click_u32(&a->rows, &words[SERIES_WORD_N_TYPES]);
	return r < 0 ? r : series_add(a->symbols, words, n + 1, out_id);
}

static int choose_types(struct asking *a, uint64_t hash, uint32_t series)
{
	const struct store_select *sel = a->sel;
	int r = 0;

	for (uint32_t k = 0; r == 0 && k < series_n_types(a->symbols, series); k++) {
		if (sel->type && !series_is(a->symbols, series, k, sel->type))
			continue;
		r = series_view(&a->view, a->symbols, series, k);
		if (r == 0 && series_view_matches(&a->view, sel->matchers, sel->n_matchers))
			r = vec_push(&a->chosen, (struct chosen){ hash, series, k });
	}
	return r;
}

static int cmp_chosen(const void *a, const void *b)
{
	const struct chosen *x = a, *y = b;

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static int choose(struct asking *a)
{
	int r = symbols_new(&a->symbols);

	if (r < 0)
		return r;
	buf_put_str(&a->sql, "SELECT series, texts, n_types FROM cameo_series");
	put_days(a);
	put_texts(a);
	buf_put_str(&a->sql, " LIMIT 1 BY series");
	r = run(a);
	while (r == 0 && wire_len(a->rows)) {
		uint64_t hash;
		uint32_t id;

		r = read_series(a, &hash, &id);
		if (r == 0)
			r = choose_types(a, hash, id);
	}
	if (r == 0 && a->chosen.len)
		qsort(a->chosen.data, a->chosen.len, sizeof(*a->chosen.data), cmp_chosen);
	return damaged(a, r);
}

/* Some of the chosen series, of one type. */
struct part {
	const struct chosen *chosen;
	size_t n;
	uint32_t type;
};

typedef int (*part_fn)(struct asking *a, const struct part *p, void *ctx);

static int each_part(struct asking *a, part_fn fn, void *ctx)
{
	int r = 0;

	for (size_t i = 0, n; r == 0 && i < a->chosen.len; i += n) {
		const struct chosen *c = &a->chosen.data[i];

		for (n = 1; n < AT_ONCE && i + n < a->chosen.len && c[n].type == c->type;)
			n++;
		r = fn(a, &(struct part){ c, n, c->type }, ctx);
	}
	return damaged(a, r);
}

/* From windows in the range of these series. */
static void put_windows(struct asking *a, const struct part *p)
{
	buf_put_str(&a->sql, " FROM cameo_windows");
	put_days(a);
	buf_printf(&a->sql, " AND time BETWEEN %" PRId64 " AND %" PRId64 " AND series IN (",
		   a->from_ns, a->sel->end_ns);
	for (size_t i = 0; i < p->n; i++)
		buf_printf(&a->sql, "%s%" PRIu64, i ? "," : "", p->chosen[i].hash);
	buf_put_str(&a->sql, ")");
	for (size_t i = 0; i < a->sel->n_ids; i++)
		buf_printf(&a->sql, "%s%" PRId64, i ? "," : " AND id IN (",
			   window_id_hash(a->sel->ids[i]));
	if (a->sel->n_ids)
		buf_put_str(&a->sql, ")");
}

/* One column of a window's values. */
static void put_values(struct asking *a, const struct part *p)
{
	buf_printf(&a->sql, "arraySlice(values, %" PRIu32 " * length(stacks) + 1, length(stacks))",
		   p->type);
}

static const char once[] = " LIMIT 1 BY series, key";

/* What the stacks of these windows are. */
static int fetch_stacks(struct asking *a, const struct part *p, struct click_stacks *out)
{
	int r;

	buf_put_str(&a->sql, "SELECT frame, name, file, binary, line, kind FROM cameo_frames");
	put_days(a);
	buf_put_str(&a->sql, " AND frame IN (SELECT arrayJoin(frames) FROM cameo_stacks");
	put_days(a);
	buf_put_str(&a->sql, " AND stack IN (SELECT arrayJoin(stacks)");
	put_windows(a, p);
	buf_put_str(&a->sql, ")) LIMIT 1 BY frame");
	r = run(a);
	if (r == 0)
		r = click_stacks_frames(out, a->rows);
	if (r < 0)
		return r;
	buf_put_str(&a->sql, "SELECT stack, frames FROM cameo_stacks");
	put_days(a);
	buf_put_str(&a->sql, " AND stack IN (SELECT arrayJoin(stacks)");
	put_windows(a, p);
	buf_put_str(&a->sql, ") LIMIT 1 BY stack");
	r = run(a);
	return r < 0 ? r : click_stacks_stacks(out, a->rows);
}

/* Merging */

static int merge_windows(struct asking *a, const struct part *p, struct stacks *out)
{
	uint64_t n_windows = 0;
	int64_t duration = 0, period = 0;
	int r;

	buf_put_str(&a->sql, "SELECT count(), sum(duration), argMin(period, time) FROM"
			     " (SELECT duration, period, time");
	put_windows(a, p);
	buf_printf(&a->sql, "%s)", once);
	r = run(a);
	if (r < 0 || !wire_len(a->rows)) /* no row, no windows */
		return r;
	r = click_u64(&a->rows, &n_windows);
	if (r == 0)
		r = click_i64(&a->rows, &duration);
	if (r == 0)
		r = click_i64(&a->rows, &period);
	if (r < 0)
		return r;
	out->period = out->n_windows || !n_windows ? out->period : period;
	out->n_windows += n_windows;
	out->duration_ns = stacks_sum(out->duration_ns, duration);
	return 0;
}

static int merge_part(struct asking *a, const struct part *p, void *ctx)
{
	struct click_stacks *names = ctx;
	int r = fetch_stacks(a, p, names);

	if (r < 0)
		return r;
	buf_put_str(&a->sql, "SELECT stack, sum(value) FROM (SELECT stacks, ");
	put_values(a, p);
	buf_put_str(&a->sql, " AS v");
	put_windows(a, p);
	buf_printf(&a->sql, "%s) ARRAY JOIN stacks AS stack, v AS value GROUP BY stack", once);
	r = run(a);
	while (r == 0 && wire_len(a->rows)) {
		uint64_t stack = 0;
		uint32_t node = 0;
		int64_t value = 0;

		r = click_u64(&a->rows, &stack);
		if (r == 0)
			r = click_i64(&a->rows, &value);
		if (r == 0)
			r = click_stacks_node(names, stack, &node);
		if (r == 0)
			r = stacks_add_value(names->to, node, value);
	}
	return r < 0 ? r : merge_windows(a, p, names->to);
}

static struct asking asking_of(struct click_http *h, const struct store_select *sel,
			       struct err *err)
{
	return (struct asking){ .http = h, .sel = sel, .from_ns = sel->start_ns, .err = err };
}

int click_ask_merge(struct click_http *h, const struct store_select *sel, struct stacks *out,
		    struct err *err)
{
	_cleanup_(asking_fini) struct asking a = asking_of(h, sel, err);
	_cleanup_(click_stacks_fini) struct click_stacks names = { 0 };
	_cleanup_(stacks_freep) struct stacks *all = NULL;
	int r = stacks_new(&all);

	names.to = all;
	if (r == 0)
		r = choose(&a);
	if (r == 0)
		r = each_part(&a, merge_part, &names);
	if (r < 0)
		return r;
	out->n_windows = all->n_windows;
	out->duration_ns = all->duration_ns;
	out->period = all->period;
	return stacks_add(out, all->symbols, all->self, all->n, sel->names_only);
}

/* Series */

struct telling {
	store_series_fn series;
	store_point_fn point;
	store_times_fn times;
	void *ctx;
	struct times room;
};

static int tell_series(struct asking *a, const struct chosen *c, const struct telling *t)
{
	int r = series_view(&a->view, a->symbols, c->series, c->type);

	return r < 0 ? r : t->series(t->ctx, a->view.labels.data, a->view.labels.len);
}

static const struct chosen *find_chosen(const struct part *p, uint64_t hash)
{
	const struct chosen key = { .hash = hash, .type = p->type };

	return bsearch(&key, p->chosen, p->n, sizeof(key), cmp_chosen);
}

static int series_part(struct asking *a, const struct part *p, void *ctx)
{
	int r;

	buf_put_str(&a->sql, "SELECT DISTINCT series");
	put_windows(a, p);
	r = run(a);
	while (r == 0 && wire_len(a->rows)) {
		const struct chosen *c;
		uint64_t hash = 0;

		r = click_u64(&a->rows, &hash);
		if (r < 0)
			return r;
		c = find_chosen(p, hash);
		r = c ? tell_series(a, c, ctx) : -EBADMSG;
	}
	return r;
}

int click_ask_series(struct click_http *h, const struct store_select *sel, store_series_fn fn,
		     void *ctx, struct err *err)
{
	_cleanup_(asking_fini) struct asking a = asking_of(h, sel, err);
	struct telling t = { .series = fn, .ctx = ctx };
	int r = choose(&a);

	return r < 0 ? r : each_part(&a, series_part, &t);
}

/* Points */

/* A stack begins with the names of the call site, root first. */
static void put_call_site(struct asking *a)
{
	buf_put_str(&a->sql, "stack IN (SELECT stack FROM cameo_stacks");
	put_days(a);
	buf_printf(&a->sql, " AND length(frames) >= %zu", a->sel->n_call_site);
	for (size_t i = 0; i < a->sel->n_call_site; i++) {
		buf_printf(&a->sql, " AND frames[%zu] IN (SELECT frame FROM cameo_frames", i + 1);
		put_days(a);
		buf_put_str(&a->sql, " AND name=");
		click_put_text(&a->sql, a->sel->call_site[i]);
		buf_put_str(&a->sql, ")");
	}
	buf_put_str(&a->sql, ")");
}

static void put_points(struct asking *a, const struct part *p)
{
	if (!a->sel->n_call_site) {
		buf_printf(&a->sql, "SELECT series, time, totals[%" PRIu32 "]", p->type + 1);
		put_windows(a, p);
		buf_printf(&a->sql, " ORDER BY series, time%s", once);
		return;
	}
	buf_put_str(&a->sql, "SELECT series, time, sum(if(");
	put_call_site(a);
	buf_put_str(&a->sql, ", value, 0)) FROM (SELECT series, time, key, stacks, ");
	put_values(a, p);
	buf_put_str(&a->sql, " AS v");
	put_windows(a, p);
	buf_printf(&a->sql,
		   "%s) ARRAY JOIN stacks AS stack, v AS value"
		   " GROUP BY series, time, key ORDER BY series, time",
		   once);
}

static int points_part(struct asking *a, const struct part *p, void *ctx)
{
	const struct telling *t = ctx;
	const struct chosen *c = NULL;
	int r;

	put_points(a, p);
	r = run(a);
	while (r == 0 && wire_len(a->rows)) {
		struct store_point point = { 0 };
		uint64_t hash = 0;

		r = click_u64(&a->rows, &hash);
		if (r == 0)
			r = click_i64(&a->rows, &point.time_ns);
		if (r == 0)
			r = click_i64(&a->rows, &point.value);
		if (r == 0 && (!c || c->hash != hash)) {
			c = find_chosen(p, hash);
			r = c ? tell_series(a, c, t) : -EBADMSG;
		}
		if (r == 0)
			r = t->point(t->ctx, &point);
	}
	return r;
}

int click_ask_points(struct click_http *h, const struct store_select *sel, store_series_fn series,
		     store_point_fn point, void *ctx, struct err *err)
{
	_cleanup_(asking_fini) struct asking a = asking_of(h, sel, err);
	struct telling t = { .series = series, .point = point, .ctx = ctx };
	int r = choose(&a);

	return r < 0 ? r : each_part(&a, points_part, &t);
}

/* Times of samples */

static int times_part(struct asking *a, const struct part *p, void *ctx)
{
	struct telling *t = ctx;
	int r;

	buf_printf(&a->sql, "SELECT time, totals[%" PRIu32 "], times", p->type + 1);
	put_windows(a, p);
	buf_put_str(&a->sql, once);
	r = run(a);
	while (r == 0 && wire_len(a->rows)) {
		struct store_point window = { 0 };
		struct wire times;

		r = click_i64(&a->rows, &window.time_ns);
		if (r == 0)
			r = click_i64(&a->rows, &window.value);
		if (r == 0)
			r = click_bytes(&a->rows, &times);
		if (r == 0)
			r = times_read(&t->room, times.p, wire_len(times), window.time_ns);
		if (r == 0)
			r = t->times(t->ctx, &window, t->room.data, t->room.len);
	}
	return r;
}

int click_ask_times(struct click_http *h, const struct store_select *sel, store_times_fn fn,
		    void *ctx, struct err *err)
{
	_cleanup_(asking_fini) struct asking a = asking_of(h, sel, err);
	struct telling t = { .times = fn, .ctx = ctx };
	int r = choose(&a);

	if (r == 0)
		r = each_part(&a, times_part, &t);
	vec_fini(&t.room);
	return r;
}

/* Moments */

struct gathering {
	struct moments *out;
	struct click_stacks names;
	struct times times;
	struct times_owners owners;
	struct {
		VEC(uint32_t);
	} nodes;
	struct {
		VEC(int64_t);
	} values;
};

static void gathering_fini(struct gathering *g)
{
	click_stacks_fini(&g->names);
	vec_fini(&g->times);
	times_owners_fini(&g->owners);
	vec_fini(&g->nodes);
	vec_fini(&g->values);
}

static int read_counts(struct asking *a, struct gathering *g)
{
	size_t n = 0;
	int r = click_array(&a->rows, 8, &n);

	g->nodes.len = g->values.len = 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		uint64_t stack = 0;
		uint32_t node = 0;

		r = click_u64(&a->rows, &stack);
		if (r == 0)
			r = click_stacks_node(&g->names, stack, &node);
		if (r == 0)
			r = vec_push(&g->nodes, node);
	}
	if (r == 0)
		r = click_array(&a->rows, 8, &n);
	for (size_t i = 0; r == 0 && i < n; i++) {
		int64_t value = 0;

		r = click_i64(&a->rows, &value);
		if (r == 0)
			r = vec_push(&g->values, value);
	}
	return r == 0 && g->values.len != g->nodes.len ? -EBADMSG : r;
}

static int read_window(struct asking *a, struct gathering *g)
{
	struct wire times = { 0 }, owners = { 0 };
	int64_t time_ns = 0;
	int r = click_i64(&a->rows, &time_ns);

	if (r == 0)
		r = click_i64(&a->rows, &g->out->stacks->period);
	if (r == 0)
		r = read_counts(a, g);
	if (r == 0)
		r = click_bytes(&a->rows, &times);
	if (r == 0)
		r = click_bytes(&a->rows, &owners);
	if (r == 0)
		r = times_read(&g->times, times.p, wire_len(times), time_ns);
	return r < 0 ? r
		     : times_read_owners(&g->owners, owners.p, wire_len(owners), g->times.len,
					 g->nodes.len);
}

static int moments_part(struct asking *a, const struct part *p, void *ctx)
{
	struct gathering *g = ctx;
	int r = fetch_stacks(a, p, &g->names);

	if (r < 0)
		return r;
	buf_put_str(&a->sql, "SELECT series, time, period, stacks, ");
	put_values(a, p);
	buf_put_str(&a->sql, ", times, owners");
	put_windows(a, p);
	buf_printf(&a->sql, " AND notEmpty(times)%s", once);
	r = run(a);
	while (r == 0 && wire_len(a->rows)) {
		const struct chosen *c = NULL;
		struct moments_series series;
		uint64_t hash = 0;

		r = click_u64(&a->rows, &hash);
		if (r == 0)
			r = read_window(a, g);
		if (r == 0 && !(c = find_chosen(p, hash)))
			r = -EBADMSG;
		if (r == 0)
			r = series_view(&a->view, a->symbols, c->series, c->type);
		if (r < 0)
			return r;
		series = moments_series_of(a->view.labels.data, a->view.labels.len);
		r = moments_add(g->out, &series,
				&(struct moments_window){ .times_ns = g->times.data,
							  .owners = &g->owners,
							  .nodes = g->nodes.data,
							  .values = g->values.data,
							  .n_rows = g->nodes.len },
				a->sel->start_ns, a->sel->end_ns);
	}
	return r;
}

int click_ask_moments(struct click_http *h, const struct store_select *sel, int64_t before_ns,
		      struct moments *out, struct err *err)
{
	_cleanup_(asking_fini) struct asking a = asking_of(h, sel, err);
	_cleanup_(gathering_fini) struct gathering g = { .out = out };
	_cleanup_(stacks_freep) struct stacks *all = NULL;
	_cleanup_(freep) uint32_t *nodes = NULL;
	int r = stacks_new(&all);

	g.names.to = all;
	a.from_ns = sel->start_ns < before_ns ? 0 : sel->start_ns - before_ns;
	if (r == 0)
		r = choose(&a);
	if (r == 0)
		r = each_part(&a, moments_part, &g);
	if (r == -EFBIG)
		err_set(err, r, "more than %d samples: a shorter range has fewer", MOMENTS_MAX);
	for (size_t i = 0; r == 0 && i < out->all.len; i++)
		r = stacks_add_value(all, out->all.data[i].node, out->all.data[i].value);
	if (r == 0)
		r = stacks_add_mapped(out->stacks, all->symbols, all->self, all->n, &nodes);
	if (r == 0)
		moments_map(out, 0, nodes);
	return r;
}
