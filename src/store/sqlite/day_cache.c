/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Days stay open while their memory is within the limit, and their number within that of
 * descriptors. Among days that nobody holds, the least recently used is closed first; all of it is
 * on disk, so closing loses nothing. More are open only while they are held.
 *
 * Opening a day reads its dictionary, which may take a second, so it happens without the lock: the
 * day is in the list already, held and marked as opening, and other threads that need it wait.
 */
#include "store/sqlite/day_cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/vec.h"
#include "store/sqlite/day.h"
#include "store/sqlite/day_files.h"
#include "store/sqlite/day_list.h"
#include "store/sqlite/day_rewrite.h"
#include "store/sqlite/durable.h"
#include "store/sqlite/manifests.h"
#include "store/sqlite/reader_pool.h"
#include "store/sqlite/refusals.h"

/* A query of a whole day has all names thrice: in the day, in its result, in the response. */
enum { DEFAULT_BYTES = 1 << 30, DAY_DIVISOR = 3 };

struct day_ref {
	char tenant[STORE_TENANT_MAX + 1];
	int64_t number;
	struct day *day; /* NULL while it is opened */
	bool opening;
	struct stat st;    /* of the file that is open, which only grows */
	int64_t index_len; /* of the file with the index of its log, which only grows */
	unsigned int users;
	uint64_t used; /* value of acquisitions when it was last acquired */
};

struct day_cache {
	pthread_mutex_t lock;  /* also guards changes of the files in the directory */
	pthread_cond_t opened; /* a day is not opening any more */
	size_t max_bytes, max_open;
	struct {
		VEC(struct day_ref *);
	} all;
	struct manifests manifests;
	struct refusals refusals; /* at most one per day */
	uint64_t acquisitions;
	char *dir;
	store_warn_fn warn;
	void *warn_ctx;
};

struct day *day_ref_day(const struct day_ref *ref)
{
	return ref->day;
}

static void report(struct day_cache *d, const char *message)
{
	if (d->warn)
		d->warn(d->warn_ctx, message);
}

/* A manifest is used while a day of its tenant is in the list, even if it is being opened. */
static bool has_day_open(void *ctx, const char *tenant)
{
	const struct day_cache *d = ctx;

	for (size_t i = 0; i < d->all.len; i++)
		if (!strcmp(d->all.data[i]->tenant, tenant))
			return true;
	return false;
}

static int get_manifest(struct day_cache *d, const char *tenant, struct manifest **out,
			struct err *err)
{
	struct err warning;
	int r = manifests_get(&d->manifests, tenant, out, &warning, err);

	if (r == 0 && warning.msg[0])
		report(d, warning.msg);
	return r;
}

/*
 * The number of windows of an open day is recorded before it is closed. Arrivals need not
 * be moved into the tables, but a day that is closed has seen most of its windows.
 */
static void close_ref(struct day_cache *d, struct day_ref *ref)
{
	struct manifest *m = manifests_find(&d->manifests, ref->tenant);

	day_settle(ref->day, NULL);
	if (m && manifest_record(m, ref->number, day_identity(ref->day), day_n_windows(ref->day),
				 NULL) == 0)
		manifests_save(&d->manifests, m, NULL);
	day_close(ref->day);
	free(ref);
}

/* The least recently used day that nobody holds; the length of the list if there is none. */
static size_t find_unused(const struct day_cache *d)
{
	size_t oldest = d->all.len;

	for (size_t i = 0; i < d->all.len; i++)
		if (!d->all.data[i]->users &&
		    (oldest == d->all.len || d->all.data[i]->used < d->all.data[oldest]->used))
			oldest = i;
	return oldest;
}

static size_t sum_bytes(const struct day_cache *d)
{
	size_t bytes = 0;

	for (size_t i = 0; i < d->all.len; i++)
		if (!d->all.data[i]->opening)
			bytes += day_bytes(d->all.data[i]->day);
	return bytes;
}

/* Closes unused days until at most @max_open with @max_bytes are open. With the lock. */
static void close_unused(struct day_cache *d, size_t max_open, size_t max_bytes)
{
	size_t bytes = sum_bytes(d);

	while (d->all.len > max_open || bytes > max_bytes) {
		size_t oldest = find_unused(d), freed;

		if (oldest == d->all.len)
			return;
		freed = day_bytes(d->all.data[oldest]->day);
		bytes -= freed < bytes ? freed : bytes;
		close_ref(d, d->all.data[oldest]);
		d->all.data[oldest] = d->all.data[--d->all.len];
	}
}

void day_cache_shrink(struct day_cache *d, bool all)
{
	pthread_mutex_lock(&d->lock);
	close_unused(d, all ? 0 : d->max_open, d->max_bytes);
	pthread_mutex_unlock(&d->lock);
}

/* Reports why a day cannot be read, once per file. Returns -EUCLEAN with the reason in @err. */
static int refuse(struct day_cache *d, const char *tenant, int64_t number, const struct stat *st,
		  const struct err *why, struct err *err)
{
	if (refusals_add(&d->refusals, tenant, number, st, why))
		report(d, why->msg);
	return err_set(err, -EUCLEAN, "%s", why->msg);
}

/*
 * Converts a file of an older format, which nobody has open. If that is not possible, for example
 * on a full disk, the file is used in its own format; damage is reported by whoever opens it.
 */
static void convert(struct day_cache *d, const char *path, int64_t number)
{
	_cleanup_(db_closep) struct sqlite3 *db = NULL;
	struct day_rewrite done;
	struct err why = { 0 }, message = { 0 };
	int format = DB_FORMAT, r = db_open(&db, path, DB_READ, NULL);

	if (r == 0)
		r = db_format(db, &format, NULL);
	db_close(steal_ptr(&db));
	if (r < 0 || format >= DB_FORMAT_PAGE_SUMS) /* the rest is added (db.h) */
		return;
	r = day_rewrite(path, number, NULL, NULL, NULL, &done, &why);
	if (r == 0 || r == -EBADMSG)
		return;
	err_set(&message, r,
		"cannot convert \"%.90s\" to format %d: %.90s; it is used in format %d", path,
		DB_FORMAT, why.msg, format);
	report(d, message.msg);
}

/*
 * Opens a day's file, which must be what the manifest says. Called with the lock, and without it
 * while the file is read.
 */
static int open_file(struct day_cache *d, struct manifest *m, struct day_ref *ref, bool create,
		     struct err *err)
{
	char path[DAY_FILES_PATH_LEN];
	struct err cause = { 0 }, why = { 0 };
	struct stat st = { 0 };
	bool exists;
	int r;

	day_files_path(d->dir, ref->tenant, ref->number, path);
	exists = stat(path, &st) == 0;
	if (exists && refusals_has(&d->refusals, ref->tenant, ref->number, &st, err))
		return -EUCLEAN;
	if (!exists && !create)
		return -ENOENT;
	pthread_mutex_unlock(&d->lock);
	if (exists)
		convert(d, path, ref->number);
	r = day_open(&ref->day, path, create, &cause);
	pthread_mutex_lock(&d->lock);
	if (r == 0)
		day_limit(ref->day, d->max_bytes / DAY_DIVISOR);
	if (r == 0)
		r = manifest_record(m, ref->number, day_identity(ref->day), day_n_windows(ref->day),
				    &cause);
	if (r == -EBADMSG || r == -EUCLEAN) {
		err_set(&why, r,
			"cannot read \"%.80s\": %.90s; it is left unchanged: restore it "
			"or move it away",
			path, cause.msg);
		return refuse(d, ref->tenant, ref->number, &st, &why, err);
	}
	if (r == 0 && stat(path, &st) < 0)
		r = -errno;
	ref->st = st;
	return r < 0 && r != -ENOENT ? err_set(err, r, "cannot open \"%.80s\": %.100s", path,
					       cause.msg[0] ? cause.msg : strerror(-r))
				     : r;
}

static void day_ref_free(struct day_ref *ref)
{
	if (!ref)
		return;
	day_close(ref->day);
	free(ref);
}

DEFINE_FREEP(struct day_ref, day_ref_free)

static void remove_ref(struct day_cache *d, const struct day_ref *ref)
{
	for (size_t i = 0; i < d->all.len; i++)
		if (d->all.data[i] == ref) {
			d->all.data[i] = d->all.data[--d->all.len];
			return;
		}
}

/* Opens the day of @ref, which is in the list, and removes it again if that fails. */
static int open_ref(struct day_cache *d, struct manifest *m, struct day_ref *ref, bool create,
		    struct err *err)
{
	int r;

	ref->opening = true;
	ref->users++;
	r = open_file(d, m, ref, create, err);
	if (r == 0) {
		r = manifests_save(&d->manifests, m, create ? err : NULL);
		r = create ? r : 0;
	}
	ref->users--;
	ref->opening = false;
	if (r < 0)
		remove_ref(d, ref);
	pthread_cond_broadcast(&d->opened);
	return r;
}

/*
 * Opens a day and adds it, after closing unused ones. A file that is created is in the manifest
 * before anything in it is acknowledged. Called with the lock.
 */
static int add_day(struct day_cache *d, struct manifest *m, int64_t number, bool create,
		   struct day_ref **out, struct err *err)
{
	_cleanup_(day_ref_freep) struct day_ref *ref = calloc(1, sizeof(*ref));
	char path[DAY_FILES_PATH_LEN];
	int r;

	if (!ref)
		return -ENOMEM;
	close_unused(d, d->max_open - 1, d->max_bytes);
	snprintf(path, sizeof(path), "%s/%s", d->dir, m->tenant);
	r = create ? durable_mkdir(path, err) : 0;
	if (r < 0)
		return r;
	snprintf(ref->tenant, sizeof(ref->tenant), "%s", m->tenant);
	ref->number = number;
	r = vec_push(&d->all, ref);
	if (r == 0)
		r = open_ref(d, m, ref, create, err);
	if (r < 0)
		return r;
	*out = steal_ptr(&ref);
	return 0;
}

/* Is the path still that of the open file, and whole? What SQLite adds to a part of it is lost. */
static int check_open(struct day_cache *d, struct day_ref *ref, struct err *err)
{
	char path[DAY_FILES_PATH_LEN];
	struct err why = { 0 };
	struct stat st = { 0 };

	day_files_path(d->dir, ref->tenant, ref->number, path);
	if (stat(path, &st) == 0 && st.st_dev == ref->st.st_dev && st.st_ino == ref->st.st_ino &&
	    st.st_size >= ref->st.st_size) {
		ref->st = st;
		return 0;
	}
	err_set(&why, -EUCLEAN,
		"\"%.120s\" was deleted, truncated or replaced while in use: put it back", path);
	return refuse(d, ref->tenant, ref->number, &st, &why, err);
}

/* Is a file of the day lost, of which @ref (or NULL) is not one? */
static int check_lost(struct day_cache *d, const struct manifest *m, int64_t number,
		      const struct day_ref *ref, struct err *err)
{
	const struct stat none = { 0 };
	struct err why = { 0 };

	if (manifest_check(m, number, ref ? day_identity(ref->day) : NULL, &why) == 0)
		return 0;
	return refuse(d, m->tenant, number, &none, &why, err);
}

/* A linear search: there are few open days. */
static struct day_ref *find_day(struct day_cache *d, const char *tenant, int64_t number)
{
	for (size_t i = 0; i < d->all.len; i++)
		if (d->all.data[i]->number == number && !strcmp(d->all.data[i]->tenant, tenant))
			return d->all.data[i];
	return NULL;
}

/*
 * SQLite's index of the log of an open file was truncated, so nothing of the file can be used. It
 * is built again from the log when the day is opened, which nobody may use before. Leaves *@io
 * unchanged if the index is whole.
 */
static int renew_index(struct day_cache *d, struct day_ref **io, struct err *err)
{
	char path[DAY_FILES_PATH_LEN];
	int64_t len;

	day_files_path(d->dir, (*io)->tenant, (*io)->number, path);
	len = day_files_index_len(path);
	if (len < 0 || len >= (*io)->index_len) {
		(*io)->index_len = len < 0 ? (*io)->index_len : len;
		return 0;
	}
	if ((*io)->users)
		return err_set(err, -EIO, "\"%.120s-shm\" was truncated while in use; retry later",
			       path);
	remove_ref(d, *io);
	close_ref(d, *io);
	*io = NULL;
	return 0;
}

/* Called with the lock. */
static int acquire(struct day_cache *d, const char *tenant, int64_t number, bool create,
		   struct day_ref **out, struct err *err)
{
	struct manifest *m = NULL;
	struct day_ref *ref;
	int r;

	while ((ref = find_day(d, tenant, number)) && ref->opening)
		pthread_cond_wait(&d->opened, &d->lock);
	r = ref ? renew_index(d, &ref, err) : 0;
	if (r == 0 && !ref)
		r = manifests_check_dir(&d->manifests, err);
	if (r == 0)
		r = get_manifest(d, tenant, &m, err);
	if (r == 0)
		r = ref ? check_open(d, ref, err) : add_day(d, m, number, create, &ref, err);
	if ((r == 0 || r == -ENOENT) && !create && check_lost(d, m, number, ref, err) < 0)
		r = -EUCLEAN;
	if (r == 0)
		*out = ref;
	return r;
}

int day_cache_acquire(struct day_cache *d, const char *tenant, int64_t number, bool create,
		      struct day_ref **out, struct err *err)
{
	struct day_ref *ref = NULL;
	int r;

	pthread_mutex_lock(&d->lock);
	r = acquire(d, tenant, number, create, &ref, err);
	if (r == 0) {
		ref->users++;
		ref->used = ++d->acquisitions;
		*out = ref;
	}
	pthread_mutex_unlock(&d->lock);
	return r;
}

/*
 * The directory is read without the lock, which pushes need. A file that is dropped meanwhile left
 * the manifest before, so it is not reported as lost.
 */
int day_cache_days(struct day_cache *d, const char *tenant, struct day_files *out)
{
	struct manifest *m = NULL;
	int r;

	r = manifests_check_dir(&d->manifests, NULL);
	if (r == 0)
		r = day_files_list_tenant(d->dir, tenant, out);
	pthread_mutex_lock(&d->lock);
	if (r == 0)
		r = get_manifest(d, tenant, &m, NULL);
	if (r == 0)
		r = day_list_add_lost(m, out);
	pthread_mutex_unlock(&d->lock);
	return r;
}

int day_cache_record(struct day_cache *d, int64_t oldest_ns, struct err *err)
{
	int r = 0;

	pthread_mutex_lock(&d->lock);
	for (size_t i = 0; i < d->all.len; i++) {
		struct day_ref *ref = d->all.data[i];
		struct manifest *m = manifests_find(&d->manifests, ref->tenant);

		if (m && !ref->opening && check_open(d, ref, NULL) == 0)
			manifest_record(m, ref->number, day_identity(ref->day),
					day_n_windows(ref->day), NULL);
	}
	for (size_t i = 0; i < d->manifests.len; i++) {
		struct manifest *m = d->manifests.data[i];

		for (size_t k = m->len; k-- > 0;)
			if (oldest_ns && (m->data[k].day + 1) * STORE_DAY_NS <= oldest_ns) {
				manifest_remove(m, m->data[k].day);
				k = m->len;
			}
		if (r == 0)
			r = manifests_save(&d->manifests, m, err);
	}
	pthread_mutex_unlock(&d->lock);
	return r;
}

void day_cache_release(struct day_cache *d, struct day_ref *ref)
{
	pthread_mutex_lock(&d->lock);
	ref->users--;
	pthread_mutex_unlock(&d->lock);
}

size_t day_cache_acquire_open(struct day_cache *d, struct day_ref **out, size_t max)
{
	size_t n = 0;

	pthread_mutex_lock(&d->lock);
	for (size_t i = 0; i < d->all.len && n < max; i++) {
		if (d->all.data[i]->opening)
			continue;
		out[n] = d->all.data[i];
		out[n++]->users++;
	}
	pthread_mutex_unlock(&d->lock);
	return n;
}

/*
 * The day leaves the manifest first: a line without a file is a loss. On a full disk that is not
 * possible, but the file must go.
 */
static int drop_file(struct day_cache *d, const char *tenant, int64_t number)
{
	struct manifest *m = NULL;
	int r = get_manifest(d, tenant, &m, NULL);

	if (r < 0)
		return r;
	manifest_remove(m, number);
	r = manifests_save(&d->manifests, m, NULL);
	if (r < 0 && r != -ENOSPC)
		return r;
	r = day_files_unlink(d->dir, tenant, number);
	if (r == 0)
		manifests_save(&d->manifests, m, NULL);
	return r;
}

int day_cache_drop(struct day_cache *d, const char *tenant, int64_t number)
{
	int r = 1;

	pthread_mutex_lock(&d->lock);
	for (size_t i = 0; i < d->all.len; i++) {
		struct day_ref *ref = d->all.data[i];

		if (ref->number != number || strcmp(ref->tenant, tenant) != 0)
			continue;
		if (ref->users) {
			r = 0;
			break;
		}
		day_ref_free(ref);
		d->all.data[i] = d->all.data[--d->all.len];
		break;
	}
	if (r > 0) {
		r = drop_file(d, tenant, number);
		r = r < 0 ? r : 1;
	}
	pthread_mutex_unlock(&d->lock);
	return r;
}

void day_cache_free(struct day_cache *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->all.len; i++)
		close_ref(d, d->all.data[i]);
	vec_fini(&d->all);
	manifests_fini(&d->manifests);
	vec_fini(&d->refusals);
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->opened);
	free(d->dir);
	free(d);
}

int day_cache_new(struct day_cache **out, const char *dir, size_t max_bytes, store_warn_fn warn,
		  void *warn_ctx)
{
	_cleanup_(day_cache_freep) struct day_cache *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->opened, NULL);
	d->max_bytes = max_bytes ? max_bytes : DEFAULT_BYTES;
	d->max_open = reader_pool_max_days();
	d->warn = warn;
	d->warn_ctx = warn_ctx;
	d->dir = strdup(dir);
	if (!d->dir)
		return -ENOMEM;
	r = manifests_init(&d->manifests, d->dir);
	if (r < 0)
		return r;
	d->manifests.is_used = has_day_open;
	d->manifests.ctx = d;
	*out = steal_ptr(&d);
	return 0;
}
