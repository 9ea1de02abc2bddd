/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory of day files. A query visits each day in its range; appended profiles go to the
 * single writer thread; retention removes whole files. Operations that take long (queries, rollups)
 * hold days by reference, so retention skips such a day instead of waiting for it.
 */
#include "store/sqlite/sqlite_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/err.h"
#include "store/sqlite/day.h"
#include "store/sqlite/day_cache.h"
#include "store/sqlite/day_files.h"
#include "store/sqlite/durable.h"
#include "store/sqlite/sqlite_copy.h"
#include "store/sqlite/sqlite_query.h"
#include "store/sqlite/sqlite_usage.h"
#include "store/sqlite/writer.h"

enum {
	ROLLED_UP_DAYS = 16,
	MIN_FREE_BYTES = 8 << 20, /* of the disk, for a store that is ready */
};

struct sqlite_store {
	struct sqlite_days files; /* the first member */
	int dir_lock;
	struct day_cache *days;
	struct writer *writer;
};

static struct sqlite_store *sqlite_store_of(struct store *base)
{
	return (struct sqlite_store *)base;
}

static int sqlite_store_append(struct store *base, const char *tenant,
			       const struct store_profile *profiles, size_t n, struct err *err)
{
	struct sqlite_store *s = sqlite_store_of(base);
	if (!store_tenant_valid(tenant))
		return err_set(err, -EINVAL, "invalid tenant name");
	for (size_t i = 0; i < n; i++)
		if (profiles[i].time_ns < 0)
			return err_set(err, -EINVAL, "profile timestamp is before 1970");
	return writer_append(s->writer, tenant, profiles, n, err);
}

/* A day that retention removes meanwhile is skipped. */
static int visit_days(struct sqlite_days *base, const struct store_select *sel, day_visit_fn fn,
		      void *ctx, struct err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	_cleanup_(day_files_fini) struct day_files files = { 0 };
	int r = day_cache_days(s->days, sel->tenant, &files);

	for (size_t i = 0; r == 0 && i < files.len; i++) {
		struct day_ref *ref;

		if (files.data[i].number < store_day_of(sel->start_ns) ||
		    files.data[i].number > store_day_of(sel->end_ns))
			continue;
		r = store_select_check(sel, err);
		if (r < 0)
			break;
		r = day_cache_acquire(s->days, sel->tenant, files.data[i].number, false, &ref, err);
		if (r == -ENOENT)
			r = 0;
		else if (r == 0) {
			r = fn(day_state(day_ref_day(ref)), ctx, err);
			day_cache_release(s->days, ref);
		}
	}
	return r;
}

/* Rollups that share a transaction: few enough to hold up pushes for a few milliseconds only. */
enum { ROLLUPS_PER_COMMIT = 32 };

struct rollup_job {
	struct day *day;
	struct rollup_builder builder;
	struct rollup_sum sums[ROLLUPS_PER_COMMIT];
	size_t n;
};

static void rollup_job_fini(struct rollup_job *s)
{
	rollup_builder_fini(&s->builder);
	for (size_t i = 0; i < ROLLUPS_PER_COMMIT; i++)
		rollup_sum_fini(&s->sums[i]);
}

static int put_rollups(void *ctx, struct err *err)
{
	struct rollup_job *s = ctx;

	return day_put_rollups(s->day, s->sums, s->n, err);
}

static int begin_rollups(void *ctx, struct err *err)
{
	return day_begin_rollups(ctx, err);
}

/* Packs that share a transaction. A pack is about as large as the sums of its two hours together.
 */
enum { PACKS_PER_COMMIT = 32 };

struct pack_job {
	struct day *day;
	struct day_pack_builder builder;
	struct day_pack packs[PACKS_PER_COMMIT];
	size_t n;
};

static void pack_job_fini(struct pack_job *j)
{
	day_pack_builder_fini(&j->builder);
	for (size_t i = 0; i < PACKS_PER_COMMIT; i++)
		day_pack_fini(&j->packs[i]);
}

static int put_packs(void *ctx, struct err *err)
{
	struct pack_job *j = ctx;

	return day_put_packs(j->day, j->packs, j->n, err);
}

static int drop_packed(void *ctx, struct err *err)
{
	return day_drop_packed(ctx, err);
}

static int pack_day(struct sqlite_store *s, struct day *day, const struct rollup_slots *slots,
		    struct err *err)
{
	_cleanup_(pack_job_fini) struct pack_job job = { .day = day };
	size_t n_packs = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < slots->len; i++) {
		if (slots->data[i].level == ROLLUP_PACK) {
			n_packs++;
			job.packs[job.n].slot = slots->data[i];
			r = day_build_pack(day, &job.packs[job.n], &job.builder, err);
			job.n += r == 0 && job.packs[job.n].n_windows;
		}
		if (r < 0 || !job.n || (job.n < PACKS_PER_COMMIT && i + 1 < slots->len))
			continue;
		r = writer_run(s->writer, put_packs, &job, err);
		job.n = 0;
	}
	if (r < 0 || n_packs == ROLLUP_DUE_PACKS) /* more follow, whose blocks share pages */
		return r;
	while ((r = writer_run(s->writer, drop_packed, day, err)) > 0)
		;
	return r;
}

/*
 * Building runs in the calling thread next to the writer; only storing the results is a task of the
 * writer thread.
 */
static int roll_up_day(struct sqlite_store *s, struct day *day, int64_t before_ns, struct err *err)
{
	_cleanup_(rollup_job_fini) struct rollup_job job = { .day = day };
	_cleanup_(rollup_slots_fini) struct rollup_slots slots = { 0 };
	int r;

	if (!day_has_rollups(day, before_ns))
		return 0;
	r = writer_run(s->writer, begin_rollups, day, err);
	if (r == 0)
		r = day_find_rollups(day, before_ns, &slots, err);

	for (size_t i = 0; r == 0 && i < slots.len; i++) {
		if (slots.data[i].level < ROLLUP_N_LEVELS) {
			job.sums[job.n].slot = slots.data[i];
			r = day_build_rollup(day, &job.sums[job.n++], &job.builder, err);
		}
		if (r < 0 || !job.n || (job.n < ROLLUPS_PER_COMMIT && i + 1 < slots.len))
			continue;
		r = writer_run(s->writer, put_rollups, &job, err);
		job.n = 0;
	}
	return r < 0 ? r : pack_day(s, day, &slots, err);
}

static int empty_log(void *ctx, struct err *err)
{
	return day_empty_log(ctx, err);
}

static int sqlite_store_roll_up(struct store *base, int64_t before_ns, struct err *err)
{
	struct sqlite_store *s = sqlite_store_of(base);
	struct day_ref *open[ROLLED_UP_DAYS];
	size_t n = day_cache_acquire_open(s->days, open, ROLLED_UP_DAYS);
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		if (r == 0)
			r = roll_up_day(s, day_ref_day(open[i]), before_ns, err);
		if (r == 0 && day_has_log(day_ref_day(open[i])))
			r = writer_run(s->writer, empty_log, day_ref_day(open[i]), err);
		day_cache_release(s->days, open[i]);
	}
	return r;
}

static int sqlite_store_first_day(struct store *base, int64_t *day, struct err *err)
{
	_cleanup_(day_files_fini) struct day_files files = { 0 };
	int r = day_files_list(sqlite_store_of(base)->files.dir, &files);

	if (r < 0)
		return err_set(err, r, "cannot list the day files of \"%.150s\": %s",
			       sqlite_store_of(base)->files.dir, strerror(-r));
	if (files.len)
		*day = files.data[0].number;
	return files.len > 0;
}

/*
 * Files come sorted by day, so days are dropped oldest first. A day in use is skipped until the
 * next call.
 */
static int sqlite_store_retain(struct store *base, int64_t oldest_ns, uint64_t max_bytes,
			       int64_t now_ns, struct err *err)
{
	struct sqlite_store *s = sqlite_store_of(base);
	_cleanup_(day_files_fini) struct day_files files = { 0 };
	uint64_t bytes = 0;
	int n = 0, r = day_files_list(s->files.dir, &files);

	for (size_t i = 0; i < files.len; i++)
		bytes += files.data[i].bytes;
	for (size_t i = 0; r >= 0 && i < files.len; i++) {
		const struct day_file *f = &files.data[i];
		bool old = oldest_ns && (f->number + 1) * STORE_DAY_NS <= oldest_ns;

		if (f->number >= store_day_of(now_ns) ||
		    (!old && (!max_bytes || bytes <= max_bytes)))
			continue;
		r = day_cache_drop(s->days, f->tenant, f->number);
		if (r > 0) {
			bytes -= f->bytes;
			n++;
		}
	}
	if (r < 0)
		return err_set(err, r, "cannot remove an old day file of \"%.150s\": %s",
			       s->files.dir, strerror(-r));
	day_cache_shrink(s->days, false);
	r = day_cache_record(s->days, oldest_ns, err);
	return r < 0 ? r : n;
}

/*
 * Creates a file without a name, for which the directory must be writable and a descriptor free.
 * Some file systems do not support that; then only the permissions are checked.
 */
static int check_writable(const struct sqlite_store *s, struct err *err)
{
	_cleanup_(closep) int fd = open(s->files.dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 ||
	    ((errno == EOPNOTSUPP || errno == EISDIR) && access(s->files.dir, W_OK) == 0))
		return 0;
	return err_set(err, -EIO, "cannot write to \"%.150s\": %s", s->files.dir, strerror(errno));
}

static int sqlite_store_check(struct store *base, struct err *err)
{
	const struct sqlite_store *s = sqlite_store_of(base);
	struct statvfs fs;
	struct stat own, st;

	if (fstat(s->dir_lock, &own) < 0 || stat(s->files.dir, &st) < 0 ||
	    st.st_dev != own.st_dev || st.st_ino != own.st_ino)
		return err_set(err, -EIO, "directory \"%.150s\" was removed or replaced",
			       s->files.dir);
	if (statvfs(s->files.dir, &fs) < 0)
		return err_set(err, -EIO, "cannot inspect \"%.150s\": %s", s->files.dir,
			       strerror(errno));
	if ((uint64_t)fs.f_bavail * fs.f_frsize < MIN_FREE_BYTES)
		return err_set(err, -ENOSPC, "the disk of \"%.150s\" has less than %d MiB free",
			       s->files.dir, MIN_FREE_BYTES >> 20);
	return check_writable(s, err);
}

static void sqlite_store_shrink(struct store *base)
{
	day_cache_shrink(sqlite_store_of(base)->days, true);
}

static void sqlite_store_free(struct sqlite_store *s)
{
	if (!s)
		return;
	writer_free(s->writer);
	day_cache_free(s->days);
	closep(&s->dir_lock);
	free(s->files.dir);
	free(s);
}

DEFINE_FREEP(struct sqlite_store, sqlite_store_free)

static void sqlite_store_close(struct store *base)
{
	sqlite_store_free(sqlite_store_of(base));
}

static uint64_t sqlite_store_stamp(struct store *base, const char *tenant, int64_t start_ns,
				   int64_t end_ns)
{
	return day_files_stamp(sqlite_store_of(base)->files.dir, tenant, store_day_of(start_ns),
			       store_day_of(end_ns), NULL);
}

static const struct store_ops ops = {
	.append = sqlite_store_append,
	SQLITE_QUERY_OPS,
	.roll_up = sqlite_store_roll_up,
	.first_day = sqlite_store_first_day,
	.retain = sqlite_store_retain,
	.check = sqlite_store_check,
	.shrink = sqlite_store_shrink,
	.stamp = sqlite_store_stamp,
	.close = sqlite_store_close,
};

int sqlite_store_open(struct store **out, const struct store_options *opt, struct err *err)
{
	_cleanup_(sqlite_store_freep) struct sqlite_store *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->dir_lock = -1;
	s->files.dir = strdup(opt->dir);
	if (!s->files.dir)
		return -ENOMEM;
	r = durable_lock(s->files.dir, true, &s->dir_lock, err);
	if (r == 0)
		r = sqlite_copy_check(s->files.dir, err);
	if (r == 0)
		r = day_cache_new(&s->days, s->files.dir, opt->max_memory, opt->warn,
				  opt->warn_ctx);
	if (r == 0)
		r = writer_new(&s->writer, s->days);
	if (r < 0)
		return r;
	s->files.visit = visit_days;
	s->files.base.ops = &ops;
	*out = &steal_ptr(&s)->files.base;
	return 0;
}
