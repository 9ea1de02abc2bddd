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
	struct series_view view;
	struct {
		VEC(struct selected);
	} selected;
	struct block block;
	struct sample_times times;
	struct sample_owners owners;
	struct {
		VEC(int64_t);
	} blocks;      /* ids of the requested profiles' blocks, ascending */
	int64_t *sums; /* indexed by node */
	size_t n_sums, cap;
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
	series_view_fini(&q->view);
	vec_fini(&q->selected);
	block_fini(&q->block);
	vec_fini(&q->times);
	sample_owners_fini(&q->owners);
	vec_fini(&q->blocks);
	free(q->sums);
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

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const struct span *s = day_state_span(d, i);

		if (s->first <= q->sel->end_ns && s->last >= q->from_ns)
			r = select_types(q, i);
	}
	return r;
}

static void bind_range(struct sqlite3_stmt *stmt, uint32_t series, int64_t start_ns, int64_t end_ns)
{
	sqlite3_bind_int64(stmt, 1, series);
	sqlite3_bind_int64(stmt, 2, start_ns);
	sqlite3_bind_int64(stmt, 3, end_ns);
}

/* Checks only once every WINDOWS_PER_CHECK windows. */
static int check_end(struct query *q)
{
	return q->n_windows++ % WINDOWS_PER_CHECK ? 0 : store_select_check(q->sel, q->err);
}

static int check_copy(void *ctx)
{
	struct query *q = ctx;

	return store_select_check(q->sel, q->err);
}

/* Copying the names of a large result takes long: it ends with the query. */
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

static int read_block(struct query *q, struct sqlite3_stmt *stmt, int column, uint32_t type)
{
	const void *data;
	size_t len;
	int r = db_blob(stmt, column, q->rd->checked, &data, &len);

	return r < 0 ? r : block_read(&q->block, data, len, type);
}

/*
 * Makes room for the sums of all nodes up to @node. A node that the dictionary lacks means damage.
 */
static int grow_sums(struct query *q, uint32_t node)
{
	uint32_t n_nodes;

	if (node < q->n_sums)
		return 0;
	n_nodes = stack_dict_count(q->d->dict, STACK_DICT_NODES);
	if (node >= n_nodes)
		return -EBADMSG;
	if (vec_grow((void **)&q->sums, &q->cap, n_nodes, sizeof(*q->sums)) < 0)
		return -ENOMEM;
	memset(q->sums + q->n_sums, 0, (n_nodes - q->n_sums) * sizeof(*q->sums));
	q->n_sums = n_nodes;
	return 0;
}

/* Node ids ascend: if the last one fits, all do. */
static int add_block(struct query *q)
{
	const struct block *b = &q->block;
	int r = b->n ? grow_sums(q, b->nodes[b->n - 1]) : 0;

	if (r < 0)
		return r;
	for (size_t i = 0; i < b->n; i++)
		q->sums[b->nodes[i]] = saturating_add(q->sums[b->nodes[i]], b->values[i]);
	return 0;
}

/* Handles one window of a series. Column 0 of @row is its time, column 1 its head. */
typedef int (*window_fn)(struct query *q, struct sqlite3_stmt *row, const struct window_head *head,
			 void *ctx);

static int each_window(struct query *q, struct sqlite3_stmt *stmt, uint32_t type, window_fn fn,
		       void *ctx)
{
	struct window_head head;
	const void *data;
	size_t len;
	int r;

	while ((r = db_step(q->rd->db, stmt, q->err)) > 0) {
		r = db_blob(stmt, 1, q->rd->checked, &data, &len);
		if (r == 0)
			r = window_read_head(data, len, type, &head);
		if (r == 0)
			r = fn(q, stmt, &head, ctx);
		if (r == 0)
			r = check_end(q);
		if (r < 0)
			break;
	}
	sqlite3_reset(stmt);
	return check_damage(q, r);
}

static int cmp_ids(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Finds the blocks of profiles with one of the requested ids. A hash collision only selects
 * an additional profile. Ids are few (a client lists them), so each is one look-up.
 */
static int find_requested_blocks(struct query *q)
{
	struct sqlite3_stmt *stmt = NULL;
	int r = db_prepare(q->rd->db, "SELECT block FROM ids WHERE id=?", &stmt, q->err);

	for (size_t i = 0; r == 0 && i < q->sel->n_ids; i++) {
		sqlite3_bind_int64(stmt, 1, window_id_hash(q->sel->ids[i]));
		while ((r = db_step(q->rd->db, stmt, q->err)) > 0) {
			r = vec_push(&q->blocks, sqlite3_column_int64(stmt, 0));
			if (r < 0)
				break;
		}
	}
	db_finalize(stmt);
	if (q->blocks.len)
		qsort(q->blocks.data, q->blocks.len, sizeof(*q->blocks.data), cmp_ids);
	return r;
}

static bool is_selected(const struct query *q, int64_t block)
{
	return !q->sel->n_ids || (q->blocks.len && bsearch(&block, q->blocks.data, q->blocks.len,
							   sizeof(*q->blocks.data), cmp_ids));
}

/* The series that is being merged. @q, @c and @out are borrowed. */
struct merge {
	struct query *q;
	const struct selected *c;
	struct merged_stacks *out;
};

static int merge_window(struct query *q, struct sqlite3_stmt *row, const struct window_head *head,
			void *ctx)
{
	struct merge *m = ctx;
	int r;

	if (!is_selected(q, sqlite3_column_int64(row, 3)))
		return 0;
	r = read_block(q, row, 2, m->c->type);
	if (r == 0)
		r = add_block(q);
	if (r < 0)
		return r;
	m->out->period = m->out->n_windows++ ? m->out->period : head->period;
	m->out->duration_ns = saturating_add(m->out->duration_ns, head->duration_ns);
	return 0;
}

/* This is the callback for gaps between sums; the range includes both of its ends. */
static int merge_windows(void *ctx, int64_t start_ns, int64_t end_ns)
{
	struct merge *m = ctx;

	bind_range(m->q->rd->blocks, m->c->series, start_ns, end_ns);
	return each_window(m->q, m->q->rd->blocks, m->c->type, merge_window, m);
}

static int merge_rollup(void *ctx, struct sqlite3_stmt *row)
{
	struct merge *m = ctx;
	struct rollup_head head;
	const void *data;
	size_t len;
	int r = db_blob(row, 0, m->q->rd->checked, &data, &len);

	if (r == 0)
		r = rollup_read_head(data, len, &head);
	if (r == 0)
		r = read_block(m->q, row, 1, m->c->type);
	if (r == 0)
		r = add_block(m->q);
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
	struct merge m = { q, c, out };
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

int day_query_merge(struct day_state *d, const struct store_select *sel, struct merged_stacks *out,
		    struct err *err)
{
	_cleanup_(query_fini) struct query q = query_of(d, sel, err);
	int r = select_series(&q);

	if (r == 0 && sel->n_ids)
		r = find_requested_blocks(&q);
	for (size_t i = 0; r == 0 && i < q.selected.len; i++)
		r = merge_one(&q, &q.selected.data[i], out);
	if (r < 0)
		return r;
	begin_copy(&q, out);
	r = merged_stacks_add(out, d->dict, q.sums, q.n_sums, sel->names_only);
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
		bind_range(q.rd->any, q.selected.data[i].series, sel->start_ns, sel->end_ns);
		r = db_step(q.rd->db, q.rd->any, err);
		sqlite3_reset(q.rd->any);
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

/* Sums the block's values of stacks below the call site. */
static int sum_within(struct query *q, struct sqlite3_stmt *stmt, uint32_t type,
		      const uint8_t *within, int64_t *out)
{
	int r = read_block(q, stmt, 2, type);

	*out = 0;
	if (r < 0)
		return r;
	for (size_t i = 0; i < q->block.n; i++)
		if (q->block.nodes[i] < q->n_sums && within[q->block.nodes[i]])
			*out = saturating_add(*out, q->block.values[i]);
	return 0;
}

/* Passes the points of one series to the caller. */
struct point_emitter {
	uint32_t type;
	const uint8_t *within; /* indexed by node; NULL counts all nodes */
	store_point_fn fn;
	void *ctx;
};

static int emit_point(struct query *q, struct sqlite3_stmt *row, const struct window_head *head,
		      void *ctx)
{
	const struct point_emitter *to = ctx;
	struct store_point p = { .time_ns = sqlite3_column_int64(row, 0), .value = head->total };
	int r = to->within ? sum_within(q, row, to->type, to->within, &p.value) : 0;

	return r < 0 ? r : to->fn(to->ctx, &p);
}

static int points_of(struct query *q, const struct selected *c, struct point_emitter *to)
{
	struct sqlite3_stmt *stmt = to->within ? q->rd->blocks : q->rd->windows;

	to->type = c->type;
	bind_range(stmt, c->series, q->sel->start_ns, q->sel->end_ns);
	return each_window(q, stmt, c->type, emit_point, to);
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
	struct point_emitter to = { .fn = point, .ctx = ctx };
	int r = select_series(&q);

	if (r == 0 && sel->n_call_site) {
		q.n_sums = stack_dict_count(d->dict, STACK_DICT_NODES);
		within = merged_stacks_match_call_site(d->dict, (uint32_t)q.n_sums, sel->call_site,
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
	store_sample_times_fn fn;
	void *ctx;
};

static int emit_times(struct query *q, struct sqlite3_stmt *row, const struct window_head *head,
		      void *ctx)
{
	const struct times_emitter *to = ctx;
	struct store_point p = { .time_ns = sqlite3_column_int64(row, 0), .value = head->total };
	const void *data;
	size_t len;
	int r = db_blob(row, 2, q->rd->checked, &data, &len);

	if (r == 0)
		r = sample_times_read(&q->times, data, len, p.time_ns);
	return r < 0 ? r : to->fn(to->ctx, &p, q->times.data, q->times.len);
}

int day_query_sample_times(struct day_state *d, const struct store_select *sel,
			   store_sample_times_fn fn, void *ctx, struct err *err)
{
	_cleanup_(query_fini) struct query q = query_of(d, sel, err);
	struct times_emitter to = { fn, ctx };
	int r = select_series(&q);

	for (size_t i = 0; r == 0 && i < q.selected.len; i++) {
		const struct selected *c = &q.selected.data[i];

		bind_range(q.rd->times, c->series, sel->start_ns, sel->end_ns);
		r = each_window(&q, q.rd->times, c->type, emit_times, &to);
	}
	return r;
}

/* Collects the samples of one series. */
struct sample_query {
	uint32_t type;
	struct timed_samples_series series;
	struct timed_samples *out;
};

/* Adds one window's samples; their nodes are the day's. */
static int add_samples(struct query *q, struct sqlite3_stmt *row, const struct window_head *head,
		       void *ctx)
{
	const struct sample_query *g = ctx;
	const void *data;
	size_t len;
	int r = read_block(q, row, 2, g->type);

	if (r == 0)
		r = db_blob(row, 3, q->rd->checked, &data, &len);
	if (r == 0)
		r = sample_times_read(&q->times, data, len, sqlite3_column_int64(row, 0));
	if (r == 0)
		r = db_blob(row, 4, q->rd->checked, &data, &len);
	if (r == 0)
		r = sample_times_read_owners(&q->owners, data, len, q->times.len, q->block.n);
	if (r == 0 && q->block.n) /* node ids ascend: if the last one fits, all do */
		r = grow_sums(q, q->block.nodes[q->block.n - 1]);
	if (r < 0)
		return r;
	g->out->stacks->period = head->period;
	return timed_samples_add(g->out, &g->series,
				 &(struct timed_samples_window){ .times_ns = q->times.data,
								 .owners = &q->owners,
								 .nodes = q->block.nodes,
								 .values = q->block.values,
								 .n_rows = q->block.n },
				 q->sel->start_ns, q->sel->end_ns);
}

static int samples_of_series(struct query *q, const struct selected *c, struct timed_samples *out)
{
	struct sample_query g = { .type = c->type, .out = out };
	int r = view_selected(q, c);

	if (r < 0)
		return r;
	g.series = timed_samples_series_of(q->view.labels.data, q->view.labels.len);
	bind_range(q->rd->samples, c->series, q->from_ns, q->sel->end_ns);
	return each_window(q, q->rd->samples, c->type, add_samples, &g);
}

/* Copies the stacks of samples from @first on into @out and renumbers the samples' nodes. */
static int map_samples(struct query *q, struct timed_samples *out, size_t first)
{
	_cleanup_(freep) uint32_t *nodes = NULL;
	int r;

	for (size_t i = first; i < out->all.len; i++) {
		const struct timed_sample *m = &out->all.data[i];

		q->sums[m->node] = saturating_add(q->sums[m->node], m->value);
	}
	begin_copy(q, out->stacks);
	r = merged_stacks_add_mapped(out->stacks, q->d->dict, q->sums, q->n_sums, &nodes);
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
