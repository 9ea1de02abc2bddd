/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a commit adds to the symbols is one chunk a kind; each profile is a
 * window and a block for each of its series. Numbers are given out in memory
 * first: after a failed commit the symbols merely hold more than the file, and
 * the next commit writes that too.
 *
 * Readers read blocks without any lock: the symbols only grow, and are locked for
 * as long as it takes to choose series and to carry over sums.
 */
#include "store/day.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "store/block.h"
#include "store/db.h"
#include "store/intern.h"
#include "store/readers.h"
#include "store/series.h"
#include "store/stacks.h"
#include "store/symbols.h"
#include "store/window.h"

enum { KEY_LEN = 16, DEADLINE_EVERY = 64 };

struct span {
	int64_t first, last; /* first > last: no window is committed */
};

struct pending {
	uint32_t series;
	int64_t time_ns;
};

struct day {
	pthread_rwlock_t lock; /* symbols, spans */
	struct symbols *symbols;
	struct intern intern; /* these two are the appending thread's alone */
	struct block_writer blocks;
	struct {
		VEC(struct span);
	} spans; /* by series */
	char *path;

	struct sqlite3 *db;
	struct sqlite3_stmt *put_chunk, *put_window, *put_block, *put_profile;
	uint32_t saved[SYMBOLS_KIND_MAX];
	struct {
		VEC(struct pending);
	} pending;
	size_t mark; /* of pending */

	struct readers readers;
};

void day_close(struct day *d)
{
	if (!d)
		return;
	readers_fini(&d->readers);
	db_finalize(d->put_chunk);
	db_finalize(d->put_window);
	db_finalize(d->put_block);
	db_finalize(d->put_profile);
	db_close(d->db);
	symbols_free(d->symbols);
	intern_fini(&d->intern);
	block_writer_fini(&d->blocks);
	vec_fini(&d->spans);
	vec_fini(&d->pending);
	pthread_rwlock_destroy(&d->lock);
	free(d->path);
	free(d);
}

/* Opening */

static int load_chunks(struct day *d, struct err *err)
{
	struct sqlite3_stmt *stmt = NULL;
	int r = db_prepare(d->db, "SELECT kind, first, data FROM chunks ORDER BY kind, first",
			   &stmt, err);

	while (r == 0 && (r = db_step(d->db, stmt, err)) > 0) {
		int64_t kind = sqlite3_column_int64(stmt, 0);

		if (kind < 0 || kind >= SYMBOLS_KIND_MAX ||
		    sqlite3_column_int64(stmt, 1) != symbols_count(d->symbols, kind))
			r = -EBADMSG;
		else
			r = symbols_read(d->symbols, kind, sqlite3_column_blob(stmt, 2),
					 (size_t)sqlite3_column_bytes(stmt, 2));
		if (r == -EBADMSG)
			err_set(err, r, "its tables of names are damaged");
	}
	db_finalize(stmt);
	return r;
}

static int load_spans(struct day *d, struct err *err)
{
	uint32_t n = symbols_count(d->symbols, SYMBOLS_SERIES);
	struct sqlite3_stmt *stmt = NULL;
	int r = db_prepare(d->db,
			   "SELECT (SELECT min(time) FROM windows WHERE series=?1),"
			   " (SELECT max(time) FROM windows WHERE series=?1)",
			   &stmt, err);

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		struct span span = { INT64_MAX, INT64_MIN };

		if (!series_valid(d->symbols, i)) {
			r = err_set(err, -EBADMSG, "a series of it is damaged");
			break;
		}
		sqlite3_bind_int64(stmt, 1, i);
		r = db_step(d->db, stmt, err);
		if (r > 0 && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
			span = (struct span){ sqlite3_column_int64(stmt, 0),
					      sqlite3_column_int64(stmt, 1) };
		sqlite3_reset(stmt);
		if (r > 0)
			r = vec_push(&d->spans, span);
	}
	db_finalize(stmt);
	return r;
}

static int prepare_writer(struct day *d, struct err *err)
{
	int r = db_prepare(d->db, "INSERT INTO chunks VALUES(?, ?, ?)", &d->put_chunk, err);

	if (r == 0)
		r = db_prepare(d->db, "INSERT INTO blocks(data) VALUES(?)", &d->put_block, err);
	if (r == 0)
		r = db_prepare(d->db, "INSERT INTO windows VALUES(?, ?, ?, ?)", &d->put_window,
			       err);
	if (r == 0)
		r = db_prepare(d->db, "INSERT OR IGNORE INTO profiles VALUES(?)", &d->put_profile,
			       err);
	return r;
}

int day_open(struct day **out, const char *path, struct err *err)
{
	_cleanup_(day_closep) struct day *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	pthread_rwlock_init(&d->lock, NULL);
	d->path = strdup(path);
	readers_init(&d->readers, d->path);
	if (!d->path)
		return -ENOMEM;
	r = symbols_new(&d->symbols);
	for (int k = 0; r == 0 && k < SYMBOLS_KIND_MAX; k++)
		d->saved[k] = symbols_count(d->symbols, k);
	if (r == 0)
		r = db_open(&d->db, path, DB_WRITE, err);
	if (r == 0)
		r = load_chunks(d, err);
	if (r == 0)
		r = load_spans(d, err);
	if (r == 0)
		r = prepare_writer(d, err);
	if (r < 0)
		return r;
	for (int k = 0; k < SYMBOLS_KIND_MAX; k++)
		d->saved[k] = symbols_count(d->symbols, k);
	*out = steal_ptr(&d);
	return 0;
}

/* Appending */

int day_begin(struct day *d, struct err *err)
{
	d->pending.len = 0;
	return db_exec(d->db, "BEGIN IMMEDIATE", err);
}

void day_rollback(struct day *d)
{
	d->pending.len = 0;
	if (!sqlite3_get_autocommit(d->db))
		db_exec(d->db, "ROLLBACK", NULL);
}

int day_mark(struct day *d, struct err *err)
{
	d->mark = d->pending.len;
	return db_exec(d->db, "SAVEPOINT mark", err);
}

int day_unmark(struct day *d, bool keep, struct err *err)
{
	if (sqlite3_get_autocommit(d->db))
		return err_set(err, -EIO, "the transaction was rolled back");
	if (keep)
		return db_exec(d->db, "RELEASE mark", err);
	d->pending.len = d->mark;
	return db_exec(d->db, "ROLLBACK TO mark; RELEASE mark", err);
}

static void hash_text(XXH3_state_t *h, const char *s)
{
	XXH3_128bits_update(h, s, strlen(s) + 1);
}

/* XXH3 is the same in all versions since 0.8.0, so it may be kept. */
static void profile_key(const struct store_profile *p, uint8_t *out)
{
	XXH3_state_t h;
	XXH128_canonical_t canonical;

	XXH3_128bits_reset(&h);
	hash_text(&h, p->id);
	hash_text(&h, p->name);
	XXH3_128bits_update(&h, &p->id_time_ns, sizeof(p->id_time_ns));
	for (size_t i = 0; i < p->n_labels; i++) {
		hash_text(&h, p->labels[i].name);
		hash_text(&h, p->labels[i].value);
	}
	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&h));
	memcpy(out, canonical.digest, KEY_LEN);
}

/* 1: it is new; 0: it was appended before. */
static int put_key(struct day *d, const struct store_profile *p, struct err *err)
{
	uint8_t key[KEY_LEN];
	int r;

	if (!p->id || !p->id[0])
		return 1;
	profile_key(p, key);
	sqlite3_bind_blob(d->put_profile, 1, key, KEY_LEN, SQLITE_STATIC);
	r = db_step(d->db, d->put_profile, err);
	sqlite3_clear_bindings(d->put_profile);
	return r < 0 ? r : sqlite3_changes(d->db) > 0;
}

static int put_window(struct day *d, const struct store_profile *p, uint32_t series,
		      const struct window_rows *rows, struct err *err)
{
	_cleanup_(buf_fini) struct buf block = { 0 }, head = { 0 };
	int r = block_write(&d->blocks, rows->nodes, rows->values, rows->n, rows->n_types, &block);

	window_put_head(rows, profile_meta_const(p->profile), &head);
	if (r < 0 || buf_error(&head))
		return -ENOMEM;
	sqlite3_bind_blob64(d->put_block, 1, block.data, block.len, SQLITE_STATIC);
	r = db_step(d->db, d->put_block, err);
	if (r < 0)
		return r;
	sqlite3_bind_int64(d->put_window, 1, series);
	sqlite3_bind_int64(d->put_window, 2, p->time_ns);
	sqlite3_bind_int64(d->put_window, 3, sqlite3_last_insert_rowid(d->db));
	sqlite3_bind_blob64(d->put_window, 4, head.data, head.len, SQLITE_STATIC);
	r = db_step(d->db, d->put_window, err);
	if (r < 0)
		return r;
	return vec_push(&d->pending, (struct pending){ series, p->time_ns });
}

static int put_windows(struct day *d, const struct store_profile *p, const struct window_entry *e,
		       size_t n, struct err *err)
{
	_cleanup_(freep) uint32_t *nodes = malloc(n * sizeof(*nodes));
	size_t n_types = profile_n_sample_types(p->profile), end;
	_cleanup_(freep) int64_t *values = malloc(n * n_types * sizeof(*values));
	struct window_rows rows = { .nodes = nodes, .values = values, .n_types = n_types };
	int r = nodes && values ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i = end) {
		for (end = i; end < n && e[end].series == e[i].series;)
			end++;
		window_fill(&rows, p->profile, e + i, end - i);
		if (rows.n)
			r = put_window(d, p, e[i].series, &rows, err);
	}
	return r;
}

/* Which series and node each sample belongs to. */
static int intern_samples(struct day *d, const struct store_profile *p,
			  const struct intern_keys *keys, struct window_entry *out)
{
	_cleanup_(freep) uint32_t *nodes = NULL;
	const struct profile_label *labels = NULL;
	uint32_t n = profile_n_samples(p->profile), series = 0;
	int r;

	nodes = malloc(((size_t)profile_n_stacks(p->profile) + 1) * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	r = intern_stacks(&d->intern, d->symbols, p->profile, keys, nodes);
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		struct profile_sample s = profile_sample(p->profile, i);

		if (i == 0 || s.labels != labels) /* equal sets of labels are one place */
			r = series_of_sample(d->symbols, p, i, &series);
		labels = s.labels;
		out[i] = (struct window_entry){ series, nodes[s.stack], i };
	}
	return r;
}

int day_append(struct day *d, const struct store_profile *p, const struct intern_keys *keys,
	       struct err *err)
{
	uint32_t n = profile_n_samples(p->profile);
	_cleanup_(freep) struct window_entry *entries = NULL;
	int r;

	if (!n || !profile_n_sample_types(p->profile))
		return 0;
	r = put_key(d, p, err);
	if (r <= 0)
		return r;
	entries = malloc(n * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	pthread_rwlock_wrlock(&d->lock);
	r = intern_samples(d, p, keys, entries);
	pthread_rwlock_unlock(&d->lock);
	if (r == -EINVAL)
		return err_set(err, r, "too many labels or sample types");
	if (r < 0)
		return r;
	window_sort(entries, n);
	return put_windows(d, p, entries, n, err);
}

static int save_chunks(struct day *d, struct err *err)
{
	for (int k = 0; k < SYMBOLS_KIND_MAX; k++) {
		_cleanup_(buf_fini) struct buf data = { 0 };
		int r;

		if (symbols_count(d->symbols, k) == d->saved[k])
			continue;
		r = symbols_write(d->symbols, k, d->saved[k], &data);
		if (r < 0)
			return r;
		sqlite3_bind_int(d->put_chunk, 1, k);
		sqlite3_bind_int64(d->put_chunk, 2, d->saved[k]);
		sqlite3_bind_blob64(d->put_chunk, 3, data.data, data.len, SQLITE_STATIC);
		r = db_step(d->db, d->put_chunk, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int make_spans(struct day *d)
{
	uint32_t n = symbols_count(d->symbols, SYMBOLS_SERIES);
	int r = 0;

	pthread_rwlock_wrlock(&d->lock);
	while (r == 0 && d->spans.len < n)
		r = vec_push(&d->spans, (struct span){ INT64_MAX, INT64_MIN });
	pthread_rwlock_unlock(&d->lock);
	return r;
}

static void widen_spans(struct day *d)
{
	pthread_rwlock_wrlock(&d->lock);
	for (size_t i = 0; i < d->pending.len; i++) {
		const struct pending *p = &d->pending.data[i];
		struct span *s = &d->spans.data[p->series];

		s->first = p->time_ns < s->first ? p->time_ns : s->first;
		s->last = p->time_ns > s->last ? p->time_ns : s->last;
	}
	pthread_rwlock_unlock(&d->lock);
	d->pending.len = 0;
}

int day_commit(struct day *d, struct err *err)
{
	int r = make_spans(d);

	if (r == 0)
		r = save_chunks(d, err);
	if (r == 0)
		r = db_exec(d->db, "COMMIT", err);
	if (r < 0) {
		day_rollback(d);
		return r;
	}
	for (int k = 0; k < SYMBOLS_KIND_MAX; k++)
		d->saved[k] = symbols_count(d->symbols, k);
	widen_spans(d);
	return 0;
}

/* Asking */

struct chosen {
	uint32_t series, type;
};

/* A question to one day under way. */
struct asking {
	struct day *d;
	const struct store_select *sel;
	struct err *err;
	struct reader *rd;
	struct series_view view;
	struct {
		VEC(struct chosen);
	} chosen;
	struct block block;
	int64_t *sums; /* by node */
	size_t n_sums, cap;
	uint64_t n_windows;
};

static void asking_fini(struct asking *a)
{
	if (a->rd)
		readers_give(&a->d->readers, a->rd);
	series_view_fini(&a->view);
	vec_fini(&a->chosen);
	block_fini(&a->block);
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
	struct day *d = a->d;
	int r = readers_take(&d->readers, &a->rd, a->err);

	pthread_rwlock_rdlock(&d->lock);
	for (uint32_t i = 0; r == 0 && i < d->spans.len; i++)
		if (d->spans.data[i].first <= a->sel->end_ns &&
		    d->spans.data[i].last >= a->sel->start_ns)
			r = choose_types(a, i);
	pthread_rwlock_unlock(&d->lock);
	return r;
}

static void bind_range(struct asking *a, struct sqlite3_stmt *stmt, uint32_t series)
{
	sqlite3_bind_int64(stmt, 1, series);
	sqlite3_bind_int64(stmt, 2, a->sel->start_ns);
	sqlite3_bind_int64(stmt, 3, a->sel->end_ns);
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

static int read_block(struct asking *a, struct sqlite3_stmt *stmt, uint32_t type)
{
	return block_read(&a->block, sqlite3_column_blob(stmt, 2),
			  (size_t)sqlite3_column_bytes(stmt, 2), type);
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

static int merge_one(struct asking *a, const struct chosen *c, struct stacks *out)
{
	struct sqlite3_stmt *stmt = a->rd->blocks;
	struct window_head head;
	int r;

	bind_range(a, stmt, c->series);
	while ((r = db_step(a->rd->db, stmt, a->err)) > 0) {
		r = window_read_head(sqlite3_column_blob(stmt, 1),
				     (size_t)sqlite3_column_bytes(stmt, 1), c->type, &head);
		if (r == 0)
			r = read_block(a, stmt, c->type);
		if (r == 0)
			r = add_block(a);
		if (r == 0)
			r = check_deadline(a);
		if (r < 0)
			break;
		out->period = out->n_windows++ ? out->period : head.period;
		out->duration_ns = stacks_sum(out->duration_ns, head.duration_ns);
	}
	sqlite3_reset(stmt);
	return damaged(a, r);
}

int day_merge(struct day *d, const struct store_select *sel, struct stacks *out, struct err *err)
{
	_cleanup_(asking_fini) struct asking a = { .d = d, .sel = sel, .err = err };
	int r = choose(&a);

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

int day_series(struct day *d, const struct store_select *sel, store_series_fn fn, void *ctx,
	       struct err *err)
{
	_cleanup_(asking_fini) struct asking a = { .d = d, .sel = sel, .err = err };
	int r = choose(&a);

	for (size_t i = 0; r == 0 && i < a.chosen.len; i++) {
		bind_range(&a, a.rd->any, a.chosen.data[i].series);
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
	int r = read_block(a, stmt, type);

	*out = 0;
	if (r < 0)
		return r;
	for (size_t i = 0; i < a->block.n; i++)
		if (a->block.nodes[i] < a->n_sums && within[a->block.nodes[i]])
			*out = stacks_sum(*out, a->block.values[i]);
	return 0;
}

static int points_of(struct asking *a, const struct chosen *c, const uint8_t *within,
		     store_point_fn fn, void *ctx)
{
	struct sqlite3_stmt *stmt = within ? a->rd->blocks : a->rd->windows;
	struct window_head head;
	int r;

	bind_range(a, stmt, c->series);
	while ((r = db_step(a->rd->db, stmt, a->err)) > 0) {
		struct store_point p = { .time_ns = sqlite3_column_int64(stmt, 0) };

		r = window_read_head(sqlite3_column_blob(stmt, 1),
				     (size_t)sqlite3_column_bytes(stmt, 1), c->type, &head);
		p.value = head.total;
		if (r == 0 && within)
			r = sum_within(a, stmt, c->type, within, &p.value);
		if (r == 0)
			r = fn(ctx, &p);
		if (r == 0)
			r = check_deadline(a);
		if (r < 0)
			break;
	}
	sqlite3_reset(stmt);
	return damaged(a, r);
}

int day_points(struct day *d, const struct store_select *sel, store_series_fn series,
	       store_point_fn point, void *ctx, struct err *err)
{
	_cleanup_(asking_fini) struct asking a = { .d = d, .sel = sel, .err = err };
	_cleanup_(freep) uint8_t *within = NULL;
	int r = choose(&a);

	if (r == 0 && sel->n_call_site) {
		pthread_rwlock_rdlock(&d->lock);
		within = stacks_within(d->symbols, sel->call_site, sel->n_call_site);
		a.n_sums = symbols_count(d->symbols, SYMBOLS_NODES);
		r = within ? 0 : -ENOMEM;
		pthread_rwlock_unlock(&d->lock);
	}
	for (size_t i = 0; r == 0 && i < a.chosen.len; i++) {
		r = view_chosen(&a, &a.chosen.data[i]);
		if (r == 0)
			r = series(ctx, a.view.labels.data, a.view.labels.len);
		if (r == 0)
			r = points_of(&a, &a.chosen.data[i], within, point, ctx);
	}
	return r;
}

int day_span(struct day *d, int64_t *out_first, int64_t *out_last)
{
	struct span all = { INT64_MAX, INT64_MIN };

	pthread_rwlock_rdlock(&d->lock);
	for (size_t i = 0; i < d->spans.len; i++) {
		all.first = d->spans.data[i].first < all.first ? d->spans.data[i].first : all.first;
		all.last = d->spans.data[i].last > all.last ? d->spans.data[i].last : all.last;
	}
	pthread_rwlock_unlock(&d->lock);
	if (all.first > all.last)
		return -ENOENT;
	*out_first = all.first;
	*out_last = all.last;
	return 0;
}
