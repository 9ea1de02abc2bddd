/* SPDX-License-Identifier: Apache-2.0 */
/*
 * At most MAX_OPEN_DAYS days stay open. Among days that nobody holds, the least recently used is
 * closed first. More are open only while they are held.
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

enum { MAX_OPEN_DAYS = 6 };

struct day_ref {
	char tenant[STORE_TENANT_MAX + 1];
	int64_t number;
	struct day *day;
	unsigned int users;
	uint64_t used; /* value of acquisitions when it was last acquired */
};

struct day_cache {
	pthread_mutex_t lock; /* also guards the files in the directory */
	struct {
		VEC(struct day_ref *);
	} all;
	uint64_t acquisitions;
	char *dir;
	store_warn_fn warn;
	void *warn_ctx;
};

struct day *day_ref_day(const struct day_ref *ref)
{
	return ref->day;
}

/*
 * Six days are enough for the day that is written, its neighbour around midnight, and a query over
 * several days; each open day holds its dictionary in memory.
 */
static void close_unused(struct day_cache *d)
{
	while (d->all.len >= MAX_OPEN_DAYS) {
		size_t oldest = d->all.len;

		for (size_t i = 0; i < d->all.len; i++)
			if (!d->all.data[i]->users &&
			    (oldest == d->all.len ||
			     d->all.data[i]->used < d->all.data[oldest]->used))
				oldest = i;
		if (oldest == d->all.len)
			return;
		day_close(d->all.data[oldest]->day);
		free(d->all.data[oldest]);
		d->all.data[oldest] = d->all.data[--d->all.len];
	}
}

/* Opens a day's file. A damaged one is renamed and, with @create, replaced by a new one. */
static int open_file(struct day_cache *d, const char *tenant, int64_t number, bool create,
		     struct day **out, struct err *err)
{
	char path[DAY_FILES_PATH_LEN];
	struct err cause = { 0 };
	int r;

	day_files_path(d->dir, tenant, number, path);
	if (!create && access(path, F_OK) < 0)
		return -ENOENT;
	r = day_open(out, path, &cause);
	if (r == -EBADMSG) {
		r = day_files_quarantine(path, cause.msg, d->warn, d->warn_ctx);
		if (r == 0 && !create)
			return -ENOENT;
		if (r == 0)
			r = day_open(out, path, &cause);
	}
	return r < 0 ? err_set(err, r, "cannot open \"%.80s\": %.100s", path,
			       cause.msg[0] ? cause.msg : strerror(-r))
		     : 0;
}

/* Opens a day and adds it, after closing unused ones. Called with the lock. */
static int add_day(struct day_cache *d, const char *tenant, int64_t number, bool create,
		   struct day_ref **out, struct err *err)
{
	_cleanup_(freep) struct day_ref *ref = calloc(1, sizeof(*ref));
	char path[DAY_FILES_PATH_LEN];
	int r;

	if (!ref)
		return -ENOMEM;
	close_unused(d);
	snprintf(path, sizeof(path), "%s/%s", d->dir, tenant);
	if (create && mkdir(path, 0750) < 0 && errno != EEXIST)
		return err_set(err, -errno, "cannot create \"%.150s\": %s", path, strerror(errno));
	r = vec_reserve(&d->all, d->all.len + 1);
	if (r == 0)
		r = open_file(d, tenant, number, create, &ref->day, err);
	if (r < 0)
		return r;
	snprintf(ref->tenant, sizeof(ref->tenant), "%s", tenant);
	ref->number = number;
	d->all.data[d->all.len++] = ref;
	*out = steal_ptr(&ref);
	return 0;
}

/* A linear search: there are few open days. */
static struct day_ref *find_day(struct day_cache *d, const char *tenant, int64_t number)
{
	for (size_t i = 0; i < d->all.len; i++)
		if (d->all.data[i]->number == number && !strcmp(d->all.data[i]->tenant, tenant))
			return d->all.data[i];
	return NULL;
}

int day_cache_acquire(struct day_cache *d, const char *tenant, int64_t number, bool create,
		      struct day_ref **out, struct err *err)
{
	struct day_ref *ref;
	int r = 0;

	pthread_mutex_lock(&d->lock);
	ref = find_day(d, tenant, number);
	if (!ref)
		r = add_day(d, tenant, number, create, &ref, err);
	if (r == 0) {
		ref->users++;
		ref->used = ++d->acquisitions;
		*out = ref;
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
	for (; n < d->all.len && n < max; n++) {
		out[n] = d->all.data[n];
		out[n]->users++;
	}
	pthread_mutex_unlock(&d->lock);
	return n;
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
		day_close(ref->day);
		free(ref);
		d->all.data[i] = d->all.data[--d->all.len];
		break;
	}
	if (r > 0) {
		r = day_files_unlink(d->dir, tenant, number);
		r = r < 0 ? r : 1;
	}
	pthread_mutex_unlock(&d->lock);
	return r;
}

void day_cache_free(struct day_cache *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->all.len; i++) {
		day_close(d->all.data[i]->day);
		free(d->all.data[i]);
	}
	vec_fini(&d->all);
	pthread_mutex_destroy(&d->lock);
	free(d->dir);
	free(d);
}

int day_cache_new(struct day_cache **out, const char *dir, store_warn_fn warn, void *warn_ctx)
{
	_cleanup_(day_cache_freep) struct day_cache *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	pthread_mutex_init(&d->lock, NULL);
	d->warn = warn;
	d->warn_ctx = warn_ctx;
	d->dir = strdup(dir);
	if (!d->dir)
		return -ENOMEM;
	*out = steal_ptr(&d);
	return 0;
}
