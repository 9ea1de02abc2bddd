/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A day is identified by its tenant, its number and the stamp of its files (day_files.h). Files
 * that were replaced have another stamp, so they are another day; the old one is closed by the last
 * query that uses it. A day is opened without the lock: several queries may open one at once, of
 * which the list retains the first.
 */
#include "store/sqlite/replica_days.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "store/sqlite/day_files.h"
#include "store/sqlite/day_list.h"
#include "store/sqlite/day_load.h"
#include "store/sqlite/durable.h"
#include "store/sqlite/manifest.h"
#include "store/sqlite/sqlite_copy.h"

enum { DEFAULT_BYTES = 1 << 30 };

struct replica_day {
	struct day_state state;
	struct db_identity identity;
	uint64_t n_windows;
	char path[DAY_FILES_PATH_LEN];
	uint64_t stamp;
	bool is_settled;
	unsigned int users;
	uint64_t used; /* value of acquisitions when it was last acquired */
};

struct replica_days {
	pthread_mutex_t lock;
	struct {
		VEC(struct replica_day *);
	} open; /* one per path */
	uint64_t acquisitions;
	size_t max_bytes, max_open;
	const char *dir;
};

static void replica_day_free(struct replica_day *d)
{
	if (!d)
		return;
	day_state_fini(&d->state);
	free(d);
}

DEFINE_FREEP(struct replica_day, replica_day_free)

int replica_days_new(struct replica_days **out, const char *dir, size_t max_bytes)
{
	struct replica_days *all = calloc(1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	pthread_mutex_init(&all->lock, NULL);
	all->max_bytes = max_bytes ? max_bytes : DEFAULT_BYTES;
	all->max_open = reader_pool_max_days();
	all->dir = dir;
	*out = all;
	return 0;
}

void replica_days_free(struct replica_days *all)
{
	if (!all)
		return;
	for (size_t i = 0; i < all->open.len; i++)
		replica_day_free(all->open.data[i]);
	vec_fini(&all->open);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

/* ---- one day ------------------------------------------------------------------------ */

static int load(struct replica_day *d, struct err *err)
{
	_cleanup_(day_loaded_fini) struct day_loaded l = { 0 };
	_cleanup_(db_closep) struct sqlite3 *db = NULL;
	int r = day_state_init(&d->state, d->path, DB_REPLICA);

	if (r == 0)
		r = db_open(&db, d->path, DB_REPLICA, err);
	if (r == 0)
		r = db_check_whole(db, d->path, err);
	if (r == 0)
		r = day_load(&d->state, db, &l, err);
	d->identity = l.identity;
	d->n_windows = l.n_windows;
	return r;
}

/* The stamp is computed first, so a change during the call is noticed after the query. */
static int open_day(struct replica_day **out, const char *path, struct err *err)
{
	_cleanup_(replica_day_freep) struct replica_day *d = calloc(1, sizeof(*d));
	int64_t changed_ns = 0;
	int r;

	if (!d)
		return -ENOMEM;
	snprintf(d->path, sizeof(d->path), "%s", path);
	d->stamp = day_files_stamp_day(path, &changed_ns);
	d->is_settled = changed_ns < (int64_t)clock_unix_ns() - REPLICA_SETTLED_NS;
	r = load(d, err);
	if (r < 0)
		return r;
	*out = steal_ptr(&d);
	return 0;
}

static size_t bytes_of(struct replica_day *d)
{
	return stack_dict_bytes(d->state.dict) + reader_pool_bytes(&d->state.readers);
}

/* ---- the list, with the lock -------------------------------------------------------- */

static void remove_at(struct replica_days *all, size_t at)
{
	all->open.data[at] = all->open.data[--all->open.len];
}

static size_t find_least_used(const struct replica_days *all)
{
	size_t least = all->open.len;

	for (size_t i = 0; i < all->open.len; i++)
		if (!all->open.data[i]->users &&
		    (least == all->open.len ||
		     all->open.data[i]->used < all->open.data[least]->used))
			least = i;
	return least;
}

static void close_unused(struct replica_days *all, size_t max_open, size_t max_bytes)
{
	size_t bytes = 0;

	for (size_t i = 0; i < all->open.len; i++)
		bytes += bytes_of(all->open.data[i]);
	while (all->open.len > max_open || bytes > max_bytes) {
		size_t at = find_least_used(all), freed;

		if (at == all->open.len)
			return;
		freed = bytes_of(all->open.data[at]);
		bytes -= freed < bytes ? freed : bytes;
		replica_day_free(all->open.data[at]);
		remove_at(all, at);
	}
}

/* The open day of the files, which others with the same path no longer are. */
static struct replica_day *find(struct replica_days *all, const char *path, uint64_t stamp)
{
	for (size_t i = 0; i < all->open.len; i++) {
		struct replica_day *d = all->open.data[i];

		if (strcmp(d->path, path) != 0)
			continue;
		if (d->stamp == stamp)
			return d;
		remove_at(all, i);
		if (!d->users)
			replica_day_free(d);
		return NULL;
	}
	return NULL;
}

static bool is_listed(const struct replica_days *all, const struct replica_day *d)
{
	for (size_t i = 0; i < all->open.len; i++)
		if (all->open.data[i] == d)
			return true;
	return false;
}

static struct replica_day *hold(struct replica_days *all, struct replica_day *d)
{
	d->users++;
	d->used = ++all->acquisitions;
	return d;
}

void replica_days_shrink(struct replica_days *all)
{
	pthread_mutex_lock(&all->lock);
	close_unused(all, 0, 0);
	pthread_mutex_unlock(&all->lock);
}

/* ---- queries ------------------------------------------------------------------------ */

/* Adds a day that was opened, or frees it if another query was faster. */
static struct replica_day *add(struct replica_days *all, struct replica_day *new)
{
	struct replica_day *d;

	pthread_mutex_lock(&all->lock);
	d = find(all, new->path, new->stamp);
	if (d) {
		replica_day_free(new);
	} else {
		d = new;
		if (d->is_settled) {
			close_unused(all, all->max_open - 1, all->max_bytes);
			(void)vec_push(&all->open, d); /* without memory it is closed after use */
		}
	}
	hold(all, d);
	pthread_mutex_unlock(&all->lock);
	return d;
}

/* @stamp is the present one. */
static int acquire(struct replica_days *all, const char *path, uint64_t stamp,
		   struct replica_day **out, struct err *err)
{
	struct replica_day *d;
	int r;

	pthread_mutex_lock(&all->lock);
	d = find(all, path, stamp);
	if (d)
		hold(all, d);
	pthread_mutex_unlock(&all->lock);
	if (!d) {
		r = durable_check_unlocked(all->dir, err);
		if (r == 0)
			r = open_day(&d, path, err);
		if (r < 0)
			return r;
		d = add(all, d);
	}
	*out = d;
	return 0;
}

static void release(struct replica_days *all, struct replica_day *d)
{
	pthread_mutex_lock(&all->lock);
	if (--d->users == 0 && !is_listed(all, d))
		replica_day_free(d);
	pthread_mutex_unlock(&all->lock);
}

static int check_manifest(struct manifest *m, const struct replica_day *d, int64_t number,
			  struct err *err)
{
	int r = manifest_check(m, number, &d->identity, err);

	return r < 0 ? r : manifest_record(m, number, &d->identity, d->n_windows, err);
}

static int visit_day(struct replica_days *all, struct manifest *m, int64_t number, day_visit_fn fn,
		     void *ctx, struct err *err)
{
	char path[DAY_FILES_PATH_LEN];
	struct replica_day *d;
	uint64_t stamp;
	int r;

	day_files_path(all->dir, m->tenant, number, path);
	stamp = day_files_stamp_day(path, NULL);
	r = acquire(all, path, stamp, &d, err);
	if (r == 0) {
		stamp = d->stamp;
		r = check_manifest(m, d, number, err);
		if (r == 0)
			r = fn(&d->state, ctx, err);
		release(all, d);
	}
	/* damage and absence are those of a state that no longer exists, or never did */
	return (r >= 0 || r == -EBADMSG || r == -EUCLEAN || r == -EIO || r == -ENOENT) &&
			       day_files_stamp_day(path, NULL) != stamp
		       ? -EAGAIN
		       : r;
}

/* Explains why a day could not be read. */
static int report(const struct replica_days *all, const struct manifest *m, int64_t number, int r,
		  const struct err *why, struct err *err)
{
	char date[DAY_FILES_DATE_LEN];

	day_files_date(number, date);
	if (r == -EAGAIN)
		return err_set(
			err, r,
			"the copy of %.10s of tenant \"%s\" changed while it was read: repeat "
			"the query",
			date, m->tenant);
	if (r == -EBADMSG || r == -EUCLEAN)
		return err_set(err, -EUCLEAN, "cannot read \"%.90s/%s/%.10s.db\": %.90s", all->dir,
			       m->tenant, date, why->msg);
	return err_set(err, r, "%s", why->msg);
}

/* A directory that is missing or half restored has no days, but that is no reason for a result. */
static int check_dir(const struct replica_days *all, struct err *err)
{
	struct stat st;

	if (sqlite_copy_check(all->dir, err) < 0)
		return -EAGAIN;
	if (stat(all->dir, &st) < 0)
		return err_set(err, -EIO, "cannot read \"%.150s\": %s", all->dir, strerror(errno));
	return 0;
}

static int list(const struct replica_days *all, struct manifest *m, const char *tenant,
		struct day_files *out, struct err *err)
{
	int r = check_dir(all, err);

	if (r == 0)
		r = manifest_load(m, all->dir, tenant, err);
	if (r < 0)
		return r == -EBADMSG ? -EUCLEAN : r;
	r = day_files_list_tenant(all->dir, tenant, out);
	if (r < 0)
		return err_set(err, r, "cannot list \"%.100s/%s\": %s", all->dir, tenant,
			       strerror(-r));
	return day_list_add_lost(m, out);
}

int replica_days_visit(struct replica_days *all, const struct store_select *sel, day_visit_fn fn,
		       void *ctx, struct err *err)
{
	_cleanup_(day_files_fini) struct day_files files = { 0 };
	_cleanup_(manifest_fini) struct manifest m = { 0 };
	int r = list(all, &m, sel->tenant, &files, err);

	for (size_t i = 0; r == 0 && i < files.len; i++) {
		const struct day_file *f = &files.data[i];
		struct err why = { 0 };

		if (f->number < store_day_of(sel->start_ns) ||
		    f->number > store_day_of(sel->end_ns))
			continue;
		r = store_select_check(sel, err);
		if (r == 0) {
			r = f->is_lost ? manifest_check(&m, f->number, NULL, &why)
				       : visit_day(all, &m, f->number, fn, ctx, &why);
			if (r < 0)
				r = report(all, &m, f->number, r, &why, err);
		}
	}
	return r;
}
