/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The open days of all tenants in one directory, with reference counts. Any thread. A day that is
 * held cannot be closed or dropped, so holders should be short-lived. Days that nobody holds stay
 * open while their memory is within a limit. While a day is opened, other days can be acquired.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "store/store.h"

struct day;
struct day_ref;
struct day_cache;
struct day_files;

/*
 * Days are opened when they are first acquired. @max_bytes is for all open days; 0 is 1 GiB. The
 * dictionary of one day may use half of it. @warn may be NULL. Returns 0 or -ENOMEM.
 */
int day_cache_new(struct day_cache **out, const char *dir, size_t max_bytes, store_warn_fn warn,
		  void *warn_ctx);
void day_cache_free(struct day_cache *d);

DEFINE_FREEP(struct day_cache, day_cache_free)

/*
 * Returns 0 and a day to be released with day_cache_release(); -ENOENT if there is no such day and
 * @create is false; -EUCLEAN if the file is damaged or not what was stored, or, without @create, if
 * another file of the day was lost (manifest.h); -errno. A file that cannot be read is left
 * unchanged and reported once. *@out is written on success only. @tenant must be valid
 * (store_tenant_valid()), since it becomes a part of the path.
 */
int day_cache_acquire(struct day_cache *d, const char *tenant, int64_t number, bool create,
		      struct day_ref **out, struct err *err);
void day_cache_release(struct day_cache *d, struct day_ref *ref);

/*
 * Appends the days of a tenant that have a file, or had one that was lost, oldest first. Returns 0
 * or -errno.
 */
int day_cache_days(struct day_cache *d, const char *tenant, struct day_files *out);

/*
 * Brings the manifests up to date: numbers of windows, and no days that ended before @oldest_ns (0
 * for none). Returns 0 or -errno.
 */
int day_cache_record(struct day_cache *d, int64_t oldest_ns, struct err *err);

/*
 * Acquires up to @max days that are open now; each must be released. Returns their number. The
 * order is arbitrary. Nothing is opened, so the call does not block on disks.
 */
size_t day_cache_acquire_open(struct day_cache *d, struct day_ref **out, size_t max);

/* Closes all days that nobody holds, if @all, or those that exceed the limit. */
void day_cache_shrink(struct day_cache *d, bool all);

/* The day itself; valid until the reference is released. */
struct day *day_ref_day(const struct day_ref *ref);

/*
 * Closes a day and removes its file. Returns 1, 0 while the day is in use, or -errno. A day that is
 * not open or has no file counts as dropped.
 */
int day_cache_drop(struct day_cache *d, const char *tenant, int64_t number);
