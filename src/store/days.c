/* SPDX-License-Identifier: Apache-2.0 */
/* A few days are open at a time; those that nobody uses are closed, the longest unused first. */
#include "store/days.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/vec.h"
#include "store/day.h"
#include "store/files.h"

enum { MAX_OPEN_DAYS = 6 };

struct day_ref {
	char tenant[FILES_TENANT_MAX + 1];
	int64_t number;
	struct day *day;
	unsigned int users;
	uint64_t used; /* when it was last taken, in takes */
};

struct days {
	pthread_mutex_t lock; /* and what the directory has */
	struct {
		VEC(struct day_ref *);
	} all;
	uint64_t takes;
	char *dir;
	store_warn_fn warn;
	void *warn_ctx;
};

struct day *days_day(const struct day_ref *ref)
{
	return ref->day;
}

static void close_unused(struct days *d)
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

static int open_file(struct days *d, const char *tenant, int64_t number, bool create,
		     struct day **out, struct err *err)
{
	char path[FILES_PATH_LEN];
	struct err why = { 0 };
	int r;

	files_path(d->dir, tenant, number, path);
	if (!create && access(path, F_OK) < 0)
		return -ENOENT;
	r = day_open(out, path, &why);
	if (r == -EBADMSG) {
		r = files_set_aside(path, why.msg, d->warn, d->warn_ctx);
		if (r == 0 && !create)
			return -ENOENT;
		if (r == 0)
			r = day_open(out, path, &why);
	}
	return r < 0 ? err_set(err, r, "%.100s: %.120s", path, why.msg) : 0;
}

static int add_day(struct days *d, const char *tenant, int64_t number, bool create,
		   struct day_ref **out, struct err *err)
{
	_cleanup_(freep) struct day_ref *ref = calloc(1, sizeof(*ref));
	char path[FILES_PATH_LEN];
	int r;

	if (!ref)
		return -ENOMEM;
	close_unused(d);
	snprintf(path, sizeof(path), "%s/%s", d->dir, tenant);
	if (create && mkdir(path, 0750) < 0 && errno != EEXIST)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
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

static struct day_ref *find_day(struct days *d, const char *tenant, int64_t number)
{
	for (size_t i = 0; i < d->all.len; i++)
		if (d->all.data[i]->number == number && !strcmp(d->all.data[i]->tenant, tenant))
			return d->all.data[i];
	return NULL;
}

int days_take(struct days *d, const char *tenant, int64_t number, bool create, struct day_ref **out,
	      struct err *err)
{
	struct day_ref *ref;
	int r = 0;

	pthread_mutex_lock(&d->lock);
	ref = find_day(d, tenant, number);
	if (!ref)
		r = add_day(d, tenant, number, create, &ref, err);
	if (r == 0) {
		ref->users++;
		ref->used = ++d->takes;
		*out = ref;
	}
	pthread_mutex_unlock(&d->lock);
	return r;
}

void days_give(struct days *d, struct day_ref *ref)
{
	pthread_mutex_lock(&d->lock);
	ref->users--;
	pthread_mutex_unlock(&d->lock);
}

size_t days_open(struct days *d, struct day_ref **out, size_t max)
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

int days_drop(struct days *d, const char *tenant, int64_t number)
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
		r = files_unlink(d->dir, tenant, number);
		r = r < 0 ? r : 1;
	}
	pthread_mutex_unlock(&d->lock);
	return r;
}

void days_free(struct days *d)
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

int days_new(struct days **out, const char *dir, store_warn_fn warn, void *warn_ctx)
{
	_cleanup_(days_freep) struct days *d = calloc(1, sizeof(*d));

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
