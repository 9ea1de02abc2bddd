/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks are read without any lock: the symbols only grow, and are locked for as
 * long as it takes to choose series and to carry over sums.
 */
#include "store/ask.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/clock.h"
#include "base/err.h"
#include "store/block.h"
#include "store/db.h"
#include "store/moments.h"
#include "store/series.h"
#include "store/stacks.h"
#include "store/sums.h"
#include "store/symbols.h"
#include "store/times.h"
#include "store/window.h"

enum { DEADLINE_EVERY = 64 };

struct chosen {
	uint32_t series, type;
};

/* A question to one day under way. */
struct asking {
	struct day_state *d;
	const struct store_select *sel;
	int64_t from_ns; /* the first window's time */
	struct err *err;
	struct reader *rd;
	struct series_view view;
	struct {
		VEC(struct chosen);
	} chosen;
	struct block block;
	struct times times;
	struct times_owners owners;
	struct {
		VEC(int64_t);
	} wanted;      /* blocks of the profiles that are asked for, rising */
	int64_t *sums; /* by node */
	size_t n_sums, cap;
	uint64_t n_windows;
};

static struct asking asking_of(struct day_state *d, const struct store_select *sel, struct err *err)
{
	return (struct asking){ .d = d, .sel = sel, .from_ns = sel->start_ns, .err = err };
}

static void asking_fini(struct asking *a)
{
	if (a->rd)
		readers_give(&a->d->readers, a->rd);
	series_view_fini(&a->view);
	vec_fini(&a->chosen);
	block_fini(&a->block);
	vec_fini(&a->times);
	times_owners_fini(&a->owners);
	vec_fini(&a->wanted);
	free(a->sums);
}

static int choose_types(struct asking *a, uint32_t series)
{
	const struct symbols *s = a->d->symbols;
	int r = 0;

	for (uint32_t k = 0; r == 0 && k < series_n_types(s, series); k++) {
		if (a->sel->type && !series_is(s, series, k, a->sel->type))
			continue;
		r = series_view(&a->view, s, series, k);
		if (r == 0 && series_view_matches(&a->view, a->sel->matchers, a->sel->n_matchers))
			r = vec_push(&a->chosen, (struct chosen){ series, k });
	}
	return r;
}

static int choose(struct asking *a)
{
	struct day_state *d = a->d;
	int r = readers_take(&d->readers, &a->rd, a->err);

	pthread_rwlock_rdlock(&d->lock);
	for (uint32_t i = 0; r == 0 && i < d->spans.len; i++)
		if (d->spans.data[i].first <= a->sel->end_ns && d->spans.data[i].last >= a->from_ns)
			r = choose_types(a, i);
	pthread_rwlock_unlock(&d->lock);
	return r;
}

static void bind_range(struct sqlite3_stmt *stmt, uint32_t series, int64_t start_ns, int64_t end_ns)
{
	sqlite3_bind_int64(stmt, 1, series);
	sqlite3_bind_int64(stmt, 2, start_ns);
	sqlite3_bind_int64(stmt, 3, end_ns);
}

static int check_deadline(struct asking *a)
{
	if (!a->sel->deadline_ns || a->n_windows++ % DEADLINE_EVERY)
		return 0;
	if ((int64_t)clock_monotonic_ns() < a->sel->deadline_ns)
		return 0;
	return err_set(a->err, -ETIMEDOUT, "the question takes too long");
}

static int damaged(struct asking *a, int r)
{
	if (r == -EBADMSG)
		err_set(a->err, r, "a window in the store is damaged");
	return r;
}

static int read_block(struct asking *a, struct sqlite3_stmt *stmt, int column, uint32_t type)
{
	return block_read(&a->block, sqlite3_column_blob(stmt, column),
			  (size_t)sqlite3_column_bytes(stmt, column), type);
}

static int grow_sums(struct asking *a, uint32_t node)
{
	uint32_t n_nodes;

	if (node < a->n_sums)
		return 0;
	pthread_rwlock_rdlock(&a->d->lock);
	n_nodes = symbols_count(a->d->symbols, SYMBOLS_NODES);
	pthread_rwlock_unlock(&a->d->lock);
	if (node >= n_nodes)
		return -EBADMSG;
	if (vec_grow((void **)&a->sums, &a->cap, n_nodes, sizeof(*a->sums)) < 0)
		return -ENOMEM;
	memset(a->sums + a->n_sums, 0, (n_nodes - a->n_sums) * sizeof(*a->sums));
	a->n_sums = n_nodes;
	return 0;
}

/* Ids rise: if the last has a place, all have. */
static int add_block(struct asking *a)
{
	const struct block *b = &a->block;
	int r = b->n ? grow_sums(a, b->nodes[b->n - 1]) : 0;

	if (r < 0)
		return r;
	for (size_t i = 0; i < b->n; i++)
		a->sums[b->nodes[i]] = stacks_sum(a->sums[b->nodes[i]], b->values[i]);
	return 0;
}

/* What is done with a window of a series: its time is column 0, its head was column 1. */
typedef int (*window_fn)(struct asking *a, struct sqlite3_stmt *row, const struct window_head *head,
			 void *ctx);

static int each_window(struct asking *a, struct sqlite3_stmt *stmt, uint32_t type, window_fn fn,
		       void *ctx)
{
	struct window_head head;
	int r;

	while ((r = db_step(a->rd->db, stmt, a->err)) > 0) {
		r = window_read_head(sqlite3_column_blob(stmt, 1),
				     (size_t)sqlite3_column_bytes(stmt, 1), type, &head);
		if (r == 0)
			r = fn(a, stmt, &head, ctx);
		if (r == 0)
			r = check_deadline(a);
		if (r < 0)
			break;
	}
	sqlite3_reset(stmt);
	return damaged(a, r);
}

static int cmp_ids(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static int find_wanted(struct asking *a)
{
	struct sqlite3_stmt *stmt = NULL;
	int r = db_prepare(a->rd->db, "SELECT block FROM ids WHERE id=?", &stmt, a->err);

	for (size_t i = 0; r == 0 && i < a->sel->n_ids; i++) {
		sqlite3_bind_int64(stmt, 1, window_id_hash(a->sel->ids[i]));
		while ((r = db_step(a->rd->db, stmt, a->err)) > 0) {
			r = vec_push(&a->wanted, sqlite3_column_int64(stmt, 0));
			if (r < 0)
				break;
		}
	}
	db_finalize(stmt);
	if (a->wanted.len)
		qsort(a->wanted.data, a->wanted.len, sizeof(*a->wanted.data), cmp_ids);
	return r;
}

static bool is_wanted(const struct asking *a, int64_t block)
{
	return !a->sel->n_ids || (a->wanted.len && bsearch(&block, a->wanted.data, a->wanted.len,
							   sizeof(*a->wanted.data), cmp_ids));
}

/* A series under way. */
struct merging {
	struct asking *a;
	const struct chosen *c;
	struct stacks *out;
};

static int merge_window(struct asking *a, struct sqlite3_stmt *row, const struct window_head *head,
			void *ctx)
{
	struct merging *m = ctx;
	int r;

	if (!is_wanted(a, sqlite3_column_int64(row, 3)))
		return 0;
	r = read_block(a, row, 2, m->c->type);
	if (r == 0)
		r = add_block(a);
	if (r < 0)
		return r;
	m->out->period = m->out->n_windows++ ? m->out->period : head->period;
	m->out->duration_ns = stacks_sum(m->out->duration_ns, head->duration_ns);
	return 0;
}

static int merge_windows(void *ctx, int64_t start_ns, int64_t end_ns)
{
	struct merging *m = ctx;

	bind_range(m->a->rd->blocks, m->c->series, start_ns, end_ns);
	return each_window(m->a, m->a->rd->blocks, m->c->type, merge_window, m);
}

static int merge_sum(void *ctx, struct sqlite3_stmt *row)
{
	struct merging *m = ctx;
	struct sums_head head;
	int r = sums_read_head(sqlite3_column_blob(row, 0), (size_t)sqlite3_column_bytes(row, 0),
			       &head);

	if (r == 0)
		r = read_block(m->a, row, 1, m->c->type);
	if (r == 0)
		r = add_block(m->a);
	if (r == 0)
		r = check_deadline(m->a);
	if (r < 0)
		return r;
	m->out->period = m->out->n_windows ? m->out->period : head.period;
	m->out->n_windows += (uint64_t)head.n_windows;
	m->out->duration_ns = stacks_sum(m->out->duration_ns, head.duration_ns);
	return 0;
}

static int merge_one(struct asking *a, const struct chosen *c, struct stacks *out)
{
	struct merging m = { a, c, out };
	const struct sums_cover cover = { merge_sum, merge_windows, &m };
	const struct store_select *sel = a->sel;
	int r;

	/* sums know no single profiles */
	if (sel->n_ids)
		r = merge_windows(&m, sel->start_ns, sel->end_ns);
	else
		r = sums_cover(a->rd, c->series, sel->start_ns, sel->end_ns, &cover, a->err);
	return damaged(a, r);
}

int ask_merge(struct day_state *d, const struct store_select *sel, struct stacks *out,
	      struct err *err)
{
	_cleanup_(asking_fini) struct asking a = asking_of(d, sel, err);
	int r = choose(&a);

	if (r == 0 && sel->n_ids)
		r = find_wanted(&a);
	for (size_t i = 0; r == 0 && i < a.chosen.len; i++)
		r = merge_one(&a, &a.chosen.data[i], out);
	if (r < 0)
		return r;
	pthread_rwlock_rdlock(&d->lock);
	r = stacks_add(out, d->symbols, a.sums, a.n_sums, sel->names_only);
	pthread_rwlock_unlock(&d->lock);
	return r;
}

static int view_chosen(struct asking *a, const struct chosen *c)
{
	int r;

	pthread_rwlock_rdlock(&a->d->lock);
	r = series_view(&a->view, a->d->symbols, c->series, c->type);
	pthread_rwlock_unlock(&a->d->lock);
	return r;
}

int ask_series(struct day_state *d, const struct store_select *sel, store_series_fn fn, void *ctx,
	       struct err *err)
{
	_cleanup_(asking_fini) struct asking a = asking_of(d, sel, err);
	int r = choose(&a);

	for (size_t i = 0; r == 0 && i < a.chosen.len; i++) {
		bind_range(a.rd->any, a.chosen.data[i].series, sel->start_ns, sel->end_ns);
		r = db_step(a.rd->db, a.rd->any, err);
		sqlite3_reset(a.rd->any);
		if (r <= 0)
			continue;
		r = view_chosen(&a, &a.chosen.data[i]);
		if (r == 0)
			r = fn(ctx, a.view.labels.data, a.view.labels.len);
		if (r == 0)
			r = check_deadline(&a);
	}
	return r;
}

/* The sum of what of the block lies below the call site. */
static int sum_within(struct asking *a, struct sqlite3_stmt *stmt, uint32_t type,
		      const uint8_t *within, int64_t *out)
{
	int r = read_block(a, stmt, 2, type);

	*out = 0;
	if (r < 0)
		return r;
	for (size_t i = 0; i < a->block.n; i++)
		if (a->block.nodes[i] < a->n_sums && within[a->block.nodes[i]])
			*out = stacks_sum(*out, a->block.values[i]);
	return 0;
}

/* Who is told of the points of a series. */
struct pointing {
	uint32_t type;
	const uint8_t *within; /* NULL: all nodes count */
	store_point_fn fn;
	void *ctx;
};

static int tell_point(struct asking *a, struct sqlite3_stmt *row, const struct window_head *head,
		      void *ctx)
{
	const struct pointing *to = ctx;
	struct store_point p = { .time_ns = sqlite3_column_int64(row, 0), .value = head->total };
	int r = to->within ? sum_within(a, row, to->type, to->within, &p.value) : 0;

	return r < 0 ? r : to->fn(to->ctx, &p);
}

static int points_of(struct asking *a, const struct chosen *c, struct pointing *to)
{
	struct sqlite3_stmt *stmt = to->within ? a->rd->blocks : a->rd->windows;

	to->type = c->type;
	bind_range(stmt, c->series, a->sel->start_ns, a->sel->end_ns);
	return each_window(a, stmt, c->type, tell_point, to);
}

int ask_points(struct day_state *d, const struct store_select *sel, store_series_fn series,
	       store_point_fn point, void *ctx, struct err *err)
{
	_cleanup_(asking_fini) struct asking a = asking_of(d, sel, err);
	_cleanup_(freep) uint8_t *within = NULL;
	struct pointing to = { .fn = point, .ctx = ctx };
	int r = choose(&a);

	if (r == 0 && sel->n_call_site) {
		pthread_rwlock_rdlock(&d->lock);
		within = stacks_within(d->symbols, sel->call_site, sel->n_call_site);
		a.n_sums = symbols_count(d->symbols, SYMBOLS_NODES);
		r = within ? 0 : -ENOMEM;
		pthread_rwlock_unlock(&d->lock);
	}
	to.within = within;
	for (size_t i = 0; r == 0 && i < a.chosen.len; i++) {
		r = view_chosen(&a, &a.chosen.data[i]);
		if (r == 0)
			r = series(ctx, a.view.labels.data, a.view.labels.len);
		if (r == 0)
			r = points_of(&a, &a.chosen.data[i], &to);
	}
	return r;
}

/* Who is told of the times in the windows. */
struct timing {
	store_times_fn fn;
	void *ctx;
};

static int tell_times(struct asking *a, struct sqlite3_stmt *row, const struct window_head *head,
		      void *ctx)
{
	const struct timing *to = ctx;
	struct store_point p = { .time_ns = sqlite3_column_int64(row, 0), .value = head->total };
	int r = times_read(&a->times, sqlite3_column_blob(row, 2),
			   (size_t)sqlite3_column_bytes(row, 2), p.time_ns);

	return r < 0 ? r : to->fn(to->ctx, &p, a->times.data, a->times.len);
}

int ask_times(struct day_state *d, const struct store_select *sel, store_times_fn fn, void *ctx,
	      struct err *err)
{
	_cleanup_(asking_fini) struct asking a = asking_of(d, sel, err);
	struct timing to = { fn, ctx };
	int r = choose(&a);

	for (size_t i = 0; r == 0 && i < a.chosen.len; i++) {
		const struct chosen *c = &a.chosen.data[i];

		bind_range(a.rd->times, c->series, sel->start_ns, sel->end_ns);
		r = each_window(&a, a.rd->times, c->type, tell_times, &to);
	}
	return r;
}

/* Whose samples are added to which. */
struct gathering {
	uint32_t type;
	struct moments_series series;
	struct moments *out;
};

/* One window's samples, with the day's nodes. */
static int add_moments(struct asking *a, struct sqlite3_stmt *row, const struct window_head *head,
		       void *ctx)
{
	const struct gathering *g = ctx;
	int r = read_block(a, row, 2, g->type);

	if (r == 0)
		r = times_read(&a->times, sqlite3_column_blob(row, 3),
			       (size_t)sqlite3_column_bytes(row, 3), sqlite3_column_int64(row, 0));
	if (r == 0)
		r = times_read_owners(&a->owners, sqlite3_column_blob(row, 4),
				      (size_t)sqlite3_column_bytes(row, 4), a->times.len,
				      a->block.n);
	if (r == 0 && a->block.n) /* they rise: if the last has a place, all have */
		r = grow_sums(a, a->block.nodes[a->block.n - 1]);
	if (r < 0)
		return r;
	g->out->stacks->period = head->period;
	return moments_add(g->out, &g->series,
			   &(struct moments_window){ .times_ns = a->times.data,
						     .owners = &a->owners,
						     .nodes = a->block.nodes,
						     .values = a->block.values,
						     .n_rows = a->block.n },
			   a->sel->start_ns, a->sel->end_ns);
}

static int moments_of(struct asking *a, const struct chosen *c, struct moments *out)
{
	struct gathering g = { .type = c->type, .out = out };
	int r = view_chosen(a, c);

	if (r < 0)
		return r;
	g.series = moments_series_of(a->view.labels.data, a->view.labels.len);
	bind_range(a->rd->moments, c->series, a->from_ns, a->sel->end_ns);
	return each_window(a, a->rd->moments, c->type, add_moments, &g);
}

/* The day's nodes become those of the answer. */
static int carry_moments(struct asking *a, struct moments *out, size_t first)
{
	_cleanup_(freep) uint32_t *nodes = NULL;
	int r;

	for (size_t i = first; i < out->all.len; i++) {
		const struct moment *m = &out->all.data[i];

		a->sums[m->node] = stacks_sum(a->sums[m->node], m->value);
	}
	pthread_rwlock_rdlock(&a->d->lock);
	r = stacks_add_mapped(out->stacks, a->d->symbols, a->sums, a->n_sums, &nodes);
	pthread_rwlock_unlock(&a->d->lock);
	if (r == 0)
		moments_map(out, first, nodes);
	return r;
}

int ask_moments(struct day_state *d, const struct store_select *sel, int64_t before_ns,
		struct moments *out, struct err *err)
{
	int64_t from_ns = sel->start_ns < before_ns ? 0 : sel->start_ns - before_ns;
	_cleanup_(asking_fini) struct asking a = {
		.d = d, .sel = sel, .from_ns = from_ns, .err = err
	};
	size_t first = out->all.len;
	int r = choose(&a);

	for (size_t i = 0; r == 0 && i < a.chosen.len; i++)
		r = moments_of(&a, &a.chosen.data[i], out);
	if (r == -EFBIG)
		err_set(err, r, "more than %d samples: a shorter range has fewer", MOMENTS_MAX);
	return r < 0 ? r : carry_moments(&a, out, first);
}
