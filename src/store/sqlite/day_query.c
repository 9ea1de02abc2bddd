/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing is locked: the dictionary and the spans only grow, and what is in them does not move.
 *
 * The sum of a merge is an array indexed by node, not a hash table: node numbers are dense, and
 * adding a block is then one pass over two arrays. This is the inner loop of a flame graph over a
 * day. Nodes that are read from disk index this array, so grow_sums() checks them against the
 * dictionary. A reader may see windows that were committed after it selected series, but never a
 * node beyond the dictionary, since a node enters the dictionary before its window is committed and
 * grow_sums() reads the number of nodes after the window.
 */
#include "store/sqlite/day_query.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/err.h"
#include "base/saturate.h"
#include "flame/merged_stacks.h"
#include "flame/node_sums.h"
#include "flame/stack_dict.h"
#include "store/block.h"
#include "store/sample_times.h"
#include "store/series.h"
#include "store/sqlite/day_ids.h"
#include "store/sqlite/day_traced.h"
#include "store/sqlite/day_windows.h"
#include "store/sqlite/db.h"
#include "store/sqlite/rollup.h"
#include "store/timed_samples.h"
#include "store/window.h"

enum { WINDOWS_PER_CHECK = 64 };

struct selected {
	uint32_t series, type;
};

/* A query of one day. */
struct query {
	struct day_state *d;
	const struct store_select *sel;
	int64_t from_ns; /* time of the first window to read */
	struct err *err;
	struct reader *rd;
	struct arrivals arrivals; /* of the state that rd sees */
	struct series_view view;
	struct {
		VEC(struct selected);
	} selected;
	struct block block;   /* scratch memory of rows */
	struct day_rows rows; /* that were read last */
	struct sample_times times;
	struct sample_owners owners;
	struct day_ids blocks; /* of the requested profiles */
	struct node_sums sums;
	uint64_t n_windows;
};

static struct query query_of(struct day_state *d, const struct store_select *sel, struct err *err)
{
	return (struct query){ .d = d, .sel = sel, .from_ns = sel->start_ns, .err = err };
}

static void query_fini(struct query *q)
{
	if (q->rd)
		reader_pool_release(&q->d->readers, q->rd);
	arrivals_fini(&q->arrivals);
	series_view_fini(&q->view);
	vec_fini(&q->selected);
	block_fini(&q->block);
	vec_fini(&q->times);
	sample_owners_fini(&q->owners);
	vec_fini(&q->blocks);
	node_sums_fini(&q->sums);
}

/* Selects the sample types of a series that match type and matchers. */
static int select_types(struct query *q, uint32_t series)
{
	const struct stack_dict *s = q->d->dict;
	int r = 0;

	for (uint32_t k = 0; r == 0 && k < series_n_types(s, series); k++) {
		if (q->sel->type && !series_is(s, series, k, q->sel->type))
			continue;
		r = series_view(&q->view, s, series, k);
		if (r == 0 && series_view_matches(&q->view, q->sel->matchers, q->sel->n_matchers))
			r = vec_push(&q->selected, (struct selected){ series, k });
	}
	return r;
}

/*
 * Every window whose push was acknowledged before the query has widened the span of its series. One
 * that is being committed meanwhile may be seen or not.
 */
static int select_series(struct query *q)
{
	struct day_state *d = q->d;
	int r = reader_pool_acquire(&d->readers, &q->rd, q->err);
	uint32_t n = stable_len(&d->spans);

	if (r == 0 && q->rd->arrivals)
		r = arrivals_load(&q->arrivals, q->rd->db, q->rd->arrivals, q->err);

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const struct span *s = day_state_span(d, i);

		if (s->first <= q->sel->end_ns && s->last >= q->from_ns)
			r = select_types(q, i);
	}
	return r;
}

/* The windows of a series in the range that the query reads. */
static struct day_windows windows_of(const struct query *q, const struct selected *c)
{
	return (struct day_windows){ q->rd,
				     &q->arrivals,
				     c->series,
				     c->type,
				     series_n_types(q->d->dict, c->series),
				     q->from_ns,
				     q->sel->end_ns };
}

/* Checks only once every WINDOWS_PER_CHECK windows. */
static int check_end(struct query *q)
{
	return q->n_windows++ % WINDOWS_PER_CHECK ? 0 : store_select_check(q->sel, q->err);
}

static int check_copy(void *ctx)
{
	const struct query *q = ctx;

	return store_select_check(q->sel, q->err);
}

/* Copying the names of a large result takes long. */
static void begin_copy(struct query *q, struct merged_stacks *out)
{
	out->check = check_copy;
	out->check_ctx = q;
}

static void end_copy(struct merged_stacks *out)
{
	out->check = NULL;
	out->check_ctx = NULL;
}

static int check_damage(struct query *q, int r)
{
	if (r == -EBADMSG)
		err_set(q->err, r, "a window of the store is damaged");
	return r;
}

static int read_block(struct query *q, const struct arrivals_blob *block, uint32_t type)
{
	return day_rows_of_block(block, &q->block, type, &q->rows);
}

/*
 * Makes room for the sums of all nodes up to @node. A node that the dictionary lacks means damage.
 */
static int grow_sums(struct query *q, uint32_t node)
{
	uint32_t n_nodes;

	if (node < q->sums.n)
		return 0;
	n_nodes = stack_dict_count(q->d->dict, STACK_DICT_NODES);
	return node < n_nodes ? node_sums_reserve(&q->sums, n_nodes) : -EBADMSG;
}

/* Node ids ascend: if the last one fits, all do. */
static int add_rows(struct query *q)
{
	const struct day_rows *rows = &q->rows;
	int r = rows->n ? grow_sums(q, rows->nodes[rows->n - 1]) : 0;

	if (r < 0)
		return r;
	for (size_t i = 0; i < rows->n; i++)
		node_sums_add(&q->sums, rows->nodes[i], rows->values[i]);
	return 0;
}

/* Does the window belong to one of the requested profiles? */
static bool is_selected(const struct query *q, const struct day_window *w)
{
	if (!q->sel->n_ids || day_ids_has(&q->blocks, w->number))
		return true;
	for (size_t i = 0; w->has_id && i < q->sel->n_ids; i++)
		if (window_id_hash(q->sel->ids[i]) == w->id)
			return true;
	return false;
}

/* The series that is being merged. @q, @c and @out are borrowed. */
struct merge {
	struct query *q;
	const struct selected *c;
	struct merged_stacks *out;
	struct day_traced_reader traced;
};

/* Adds the rows that were read last, which are of one window. */
static int merge_rows(struct merge *m, const struct window_head *head)
{
	int r = add_rows(m->q);

	if (r < 0)
		return r;
	m->out->period = m->out->n_windows++ ? m->out->period : head->period;
	m->out->duration_ns = saturating_add(m->out->duration_ns, head->duration_ns);
	return check_end(m->q);
}

static int merge_window(void *ctx, const struct day_window *w)
{
	struct merge *m = ctx;

	int r;

	if (!is_selected(m->q, w))
		return check_end(m->q);
	r = day_window_rows(w, &m->q->block, m->c->type, &m->q->rows);
	return r < 0 ? r : merge_rows(m, &w->head);
}

/* This is the callback for gaps between sums; the range includes both of its ends. */
static int merge_windows(void *ctx, int64_t start_ns, int64_t end_ns)
{
	struct merge *m = ctx;
	struct day_windows of = windows_of(m->q, m->c);

	of.start_ns = start_ns;
	of.end_ns = end_ns;
	return day_windows_each(&of, DAY_WINDOWS_ROWS, merge_window, m, m->q->err);
}

static int merge_rollup(void *ctx, struct sqlite3_stmt *row)
{
	struct merge *m = ctx;
	struct arrivals_blob block;
	struct rollup_head head;
	const void *data;
	size_t len;
	int r = db_blob(row, 0, m->q->rd->checked, &data, &len);

	if (r == 0)
		r = rollup_read_head(data, len, &head);
	if (r == 0)
		r = db_blob(row, 1, m->q->rd->checked, &block.data, &block.len);
	if (r == 0)
		r = read_block(m->q, &block, m->c->type);
	if (r == 0)
		r = add_rows(m->q);
	if (r == 0)
		r = check_end(m->q);
	if (r < 0)
		return r;
	m->out->period = m->out->n_windows ? m->out->period : head.period;
	m->out->n_windows += (uint64_t)head.n_windows;
	m->out->duration_ns = saturating_add(m->out->duration_ns, head.duration_ns);
	return 0;
}

static int merge_one(struct query *q, const struct selected *c, struct merged_stacks *out)
{
	struct merge m = { .q = q, .c = c, .out = out };
	const struct rollup_cover cover = { merge_rollup, merge_windows, &m };
	const struct store_select *sel = q->sel;
	int r;

	/* a rollup does not know its single profiles */
	if (sel->n_ids)
		r = merge_windows(&m, sel->start_ns, sel->end_ns);
	else
		r = rollup_cover(q->rd, c->series, sel->start_ns, sel->end_ns, &cover, q->err);
	return check_damage(q, r);
}

/* Adds the samples of the requested spans and traces in a window that arrived last. */
static int merge_arrived(struct merge *m, const struct day_window *w)
{
	struct wire traced = wire_of(w->arrival->traced.data, w->arrival->traced.len);
	const struct store_select *sel = m->q->sel;
	struct arrivals_blob block;
	struct store_trace_id id;
	int r;

	while ((r = arrivals_next_traced(&traced, &id, &block)) > 0) {
		if (!day_traced_is_listed(sel->traced, sel->n_traced, &id))
			continue;
		r = read_block(m->q, &block, m->c->type);
		if (r == 0)
			r = merge_rows(m, &w->head);
		if (r < 0)
			return r;
	}
	return r;
}

/* Adds those of one id in a window of the tables. */
static int merge_id(struct merge *m, const struct day_window *w, const struct store_trace_id *id)
{
	struct arrivals_blob block;
	int r = day_traced_find(&m->traced, w->number, id, &block, m->q->err);

	if (r <= 0)
		return r;
	r = read_block(m->q, &block, m->c->type);
	return r < 0 ? r : merge_rows(m, &w->head);
}

static int merge_traced(void *ctx, const struct day_window *w)
{
	struct merge *m = ctx;
	const struct store_select *sel = m->q->sel;
	int r = w->arrival ? merge_arrived(m, w) : 0;

	for (size_t i = 0; r == 0 && !w->arrival && i < sel->n_traced; i++)
		if (!day_traced_is_listed(sel->traced, i, &sel->traced[i]))
			r = merge_id(m, w, &sel->traced[i]);
	return r < 0 ? r : check_end(m->q);
}

static int merge_all_traced(struct query *q, struct merged_stacks *out)
{
	struct merge m = { .q = q, .out = out };
	int r = day_traced_begin(&m.traced, q->rd, q->err);

	for (size_t i = 0; r == 0 && i < q->selected.len; i++) {
		struct day_windows of;

		m.c = &q->selected.data[i];
		of = windows_of(q, m.c);
		r = day_windows_each(&of, DAY_WINDOWS_HEADS, merge_traced, &m, q->err);
		if (r == 0) /* a series may have windows of which none has the id */
			r = check_end(q);
	}
	day_traced_end(&m.traced);
	return r;
}

int day_query_merge(struct day_state *d, const struct store_select *sel, struct merged_stacks *out,
		    struct err *err)
{
	_cleanup_(query_fini) struct query q = query_of(d, sel, err);
	int r = select_series(&q);

	if (r == 0 && sel->n_ids)
		r = day_ids_find(&q.blocks, q.rd->db, sel->ids, sel->n_ids, err);
	if (r == 0 && sel->n_traced)
		r = merge_all_traced(&q, out);
	for (size_t i = 0; r == 0 && !sel->n_traced && i < q.selected.len; i++)
		r = merge_one(&q, &q.selected.data[i], out);
	if (r < 0)
		return r;
	begin_copy(&q, out);
	r = merged_stacks_add_sums(out, d->dict, &q.sums, sel->names_only);
	end_copy(out);
	return r;
}

static int view_selected(struct query *q, const struct selected *c)
{
	return series_view(&q->view, q->d->dict, c->series, c->type);
}

/*
 * Spans only narrow the choice: a series whose span overlaps the range may still have no window in
 * it, so one row is looked for.
 */
int day_query_series(struct day_state *d, const struct store_select *sel, store_series_fn fn,
		     void *ctx, struct err *err)
{
	_cleanup_(query_fini) struct query q = query_of(d, sel, err);
	int r = select_series(&q);

	for (size_t i = 0; r == 0 && i < q.selected.len; i++) {
		const struct day_windows of = windows_of(&q, &q.selected.data[i]);

		r = day_windows_any(&of, err);
		if (r <= 0)
			continue;
		r = view_selected(&q, &q.selected.data[i]);
		if (r == 0)
			r = fn(ctx, q.view.labels.data, q.view.labels.len);
		if (r == 0)
			r = check_end(&q);
	}
	return r;
}

/* Passes the points of one series to the caller. */
struct point_emitter {
	struct query *q;
	uint32_t type;
	const uint8_t *within; /* indexed by node; NULL counts all nodes */
	uint32_t n_nodes;      /* of within */
	store_point_fn fn;
	void *ctx;
};

/* Sums the block's values of stacks below the call site. */
static int sum_within(const struct point_emitter *to, const struct day_window *w, int64_t *out)
{
	struct day_rows rows;
	int r = day_window_rows(w, &to->q->block, to->type, &rows);

	*out = 0;
	if (r < 0)
		return r;
	for (size_t i = 0; i < rows.n; i++)
		if (rows.nodes[i] < to->n_nodes && to->within[rows.nodes[i]])
			*out = saturating_add(*out, rows.values[i]);
	return 0;
}

static int emit_point(void *ctx, const struct day_window *w)
{
	const struct point_emitter *to = ctx;
	struct store_point p = { .time_ns = w->time_ns, .value = w->head.total };
	int r = to->within ? sum_within(to, w, &p.value) : 0;

	if (r == 0)
		r = to->fn(to->ctx, &p);
	return r < 0 ? r : check_end(to->q);
}

static int points_of(struct query *q, const struct selected *c, struct point_emitter *to)
{
	const struct day_windows of = windows_of(q, c);

	to->type = c->type;
	return day_windows_each(&of, to->within ? DAY_WINDOWS_ROWS : DAY_WINDOWS_HEADS, emit_point,
				to, q->err);
}

/*
 * With a call site the nodes below it are marked once per day, so that each window costs one
 * look-up per row.
 */
int day_query_points(struct day_state *d, const struct store_select *sel, store_series_fn series,
		     store_point_fn point, void *ctx, struct err *err)
{
	_cleanup_(query_fini) struct query q = query_of(d, sel, err);
	_cleanup_(freep) uint8_t *within = NULL;
	struct point_emitter to = { .q = &q, .fn = point, .ctx = ctx };
	int r = select_series(&q);

	if (r == 0 && sel->n_call_site) {
		to.n_nodes = stack_dict_count(d->dict, STACK_DICT_NODES);
		within = merged_stacks_match_call_site(d->dict, to.n_nodes, sel->call_site,
						       sel->n_call_site);
		r = within ? 0 : -ENOMEM;
	}
	to.within = within;
	for (size_t i = 0; r == 0 && i < q.selected.len; i++) {
		r = view_selected(&q, &q.selected.data[i]);
		if (r == 0)
			r = series(ctx, q.view.labels.data, q.view.labels.len);
		if (r == 0)
			r = points_of(&q, &q.selected.data[i], &to);
	}
	return r;
}

/* Passes the sample times of windows to the caller. */
struct times_emitter {
	struct query *q;
	store_sample_times_fn fn;
	void *ctx;
};

static int emit_times(void *ctx, const struct day_window *w)
{
	const struct times_emitter *to = ctx;
	struct sample_times *times = &to->q->times;
	struct store_point p = { .time_ns = w->time_ns, .value = w->head.total };
	int r = sample_times_read(times, w->times.data, w->times.len, p.time_ns);

	if (r == 0)
		r = to->fn(to->ctx, &p, times->data, times->len);
	return r < 0 ? r : check_end(to->q);
}

int day_query_sample_times(struct day_state *d, const struct store_select *sel,
			   store_sample_times_fn fn, void *ctx, struct err *err)
{
	_cleanup_(query_fini) struct query q = query_of(d, sel, err);
	struct times_emitter to = { &q, fn, ctx };
	int r = select_series(&q);

	for (size_t i = 0; r == 0 && i < q.selected.len; i++) {
		const struct day_windows of = windows_of(&q, &q.selected.data[i]);

		r = day_windows_each(&of, DAY_WINDOWS_TIMES, emit_times, &to, err);
	}
	return r;
}

/* Collects the samples of one series. */
struct sample_query {
	struct query *q;
	uint32_t type;
	struct timed_samples_series series;
	struct timed_samples *out;
};

/* Adds one window's samples; their nodes are the day's. */
static int add_samples(void *ctx, const struct day_window *w)
{
	const struct sample_query *g = ctx;
	struct query *q = g->q;
	struct day_rows rows;
	int r = day_window_rows(w, &q->block, g->type, &rows);

	if (r == 0)
		r = sample_times_read(&q->times, w->times.data, w->times.len, w->time_ns);
	if (r == 0)
		r = sample_times_read_owners(&q->owners, w->owners.data, w->owners.len,
					     q->times.len, rows.n);
	if (r == 0 && rows.n) /* node ids ascend: if the last one fits, all do */
		r = grow_sums(q, rows.nodes[rows.n - 1]);
	if (r < 0)
		return r;
	g->out->stacks->period = w->head.period;
	r = timed_samples_add(g->out, &g->series,
			      &(struct timed_samples_window){ .times_ns = q->times.data,
							      .owners = &q->owners,
							      .nodes = rows.nodes,
							      .values = rows.values,
							      .n_rows = rows.n },
			      q->sel->start_ns, q->sel->end_ns);
	return r < 0 ? r : check_end(q);
}

static int samples_of_series(struct query *q, const struct selected *c, struct timed_samples *out)
{
	struct sample_query g = { .q = q, .type = c->type, .out = out };
	const struct day_windows of = windows_of(q, c);
	int r = view_selected(q, c);

	if (r < 0)
		return r;
	g.series = timed_samples_series_of(q->view.labels.data, q->view.labels.len);
	return day_windows_each(&of, DAY_WINDOWS_SAMPLES, add_samples, &g, q->err);
}

/* Copies the stacks of samples from @first on into @out and renumbers the samples' nodes. */
static int map_samples(struct query *q, struct timed_samples *out, size_t first)
{
	_cleanup_(freep) uint32_t *nodes = NULL;
	int r;

	for (size_t i = first; i < out->all.len; i++) {
		const struct timed_sample *m = &out->all.data[i];

		node_sums_add(&q->sums, m->node, m->value);
	}
	begin_copy(q, out->stacks);
	r = merged_stacks_add_sums_mapped(out->stacks, q->d->dict, &q->sums, &nodes);
	end_copy(out->stacks);
	if (r == 0)
		timed_samples_map_nodes(out, first, nodes);
	return r;
}

/*
 * Nodes stay in the day's numbering until all series were read. map_samples() then adds the nodes
 * that are in use to the caller's stacks and renumbers the samples of this day.
 */
int day_query_samples(struct day_state *d, const struct store_select *sel, int64_t before_ns,
		      struct timed_samples *out, struct err *err)
{
	int64_t from_ns = sel->start_ns < before_ns ? 0 : sel->start_ns - before_ns;
	_cleanup_(
		query_fini) struct query q = { .d = d, .sel = sel, .from_ns = from_ns, .err = err };
	size_t first = out->all.len;
	int r = select_series(&q);

	for (size_t i = 0; r == 0 && i < q.selected.len; i++)
		r = samples_of_series(&q, &q.selected.data[i], out);
	if (r == -EFBIG)
		err_set(err, r, "the range has more than %d samples; use a shorter range",
			TIMED_SAMPLES_MAX);
	return r < 0 ? r : map_samples(&q, out, first);
}
