/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/replica_store.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "store/sqlite/day_files.h"
#include "store/sqlite/day_list.h"
#include "store/sqlite/durable.h"
#include "store/sqlite/replica_days.h"
#include "store/sqlite/sqlite_copy.h"
#include "store/sqlite/sqlite_query.h"

struct replica_store {
	struct sqlite_days files; /* the first member */
	struct replica_days *days;
	atomic_uint_fast64_t stamps; /* of files that may have changed without a new stamp */
};

static struct replica_store *replica_store_of(struct store *base)
{
	return (struct replica_store *)base;
}

static int visit_days(struct sqlite_days *base, const struct store_select *sel, day_visit_fn fn,
		      void *ctx, struct err *err)
{
	return replica_days_visit(((struct replica_store *)base)->days, sel, fn, ctx, err);
}

static int replica_store_append(struct store *base, const char *tenant,
				const struct store_profile *profiles, size_t n, struct err *err)
{
	return err_set(err, -ENOSYS, "the store is read-only");
}

static int replica_store_roll_up(struct store *base, int64_t before_ns, struct err *err)
{
	return 0;
}

static int replica_store_first_day(struct store *base, int64_t *day, struct err *err)
{
	return 0;
}

static int replica_store_retain(struct store *base, int64_t oldest_ns, uint64_t max_bytes,
				int64_t now_ns, struct err *err)
{
	return 0;
}

/* Lists the tenants, which shows whether the directory can be read. */
static int check_directory(const char *dir, struct err *err)
{
	_cleanup_(day_files_fini) struct day_files tenants = { 0 };
	int r = sqlite_copy_check(dir, err);

	if (r == 0)
		r = day_list_tenants(dir, &tenants, err);
	return r < 0 ? r : durable_check_unlocked(dir, err);
}

static int replica_store_check(struct store *base, struct err *err)
{
	return check_directory(replica_store_of(base)->files.dir, err);
}

static void replica_store_shrink(struct store *base)
{
	replica_days_shrink(replica_store_of(base)->days);
}

/* Files that have just changed have a new stamp each time, so no result of them is retained. */
static uint64_t replica_store_stamp(struct store *base, const char *tenant, int64_t start_ns,
				    int64_t end_ns)
{
	struct replica_store *s = replica_store_of(base);
	int64_t changed_ns = 0;
	uint64_t stamp = day_files_stamp(s->files.dir, tenant, store_day_of(start_ns),
					 store_day_of(end_ns), &changed_ns);

	if (changed_ns < (int64_t)clock_unix_ns() - REPLICA_SETTLED_NS)
		return stamp;
	stamp += atomic_fetch_add(&s->stamps, 1) + 1;
	return stamp ? stamp : 1;
}

static void replica_store_free(struct replica_store *s)
{
	if (!s)
		return;
	replica_days_free(s->days);
	free(s->files.dir);
	free(s);
}

DEFINE_FREEP(struct replica_store, replica_store_free)

static void replica_store_close(struct store *base)
{
	replica_store_free(replica_store_of(base));
}

static const struct store_ops ops = {
	.append = replica_store_append,
	SQLITE_QUERY_OPS,
	.roll_up = replica_store_roll_up,
	.first_day = replica_store_first_day,
	.retain = replica_store_retain,
	.check = replica_store_check,
	.shrink = replica_store_shrink,
	.stamp = replica_store_stamp,
	.close = replica_store_close,
};

int replica_store_open(struct store **out, const struct store_options *opt, struct err *err)
{
	_cleanup_(replica_store_freep) struct replica_store *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->files.mode = DB_REPLICA;
	s->files.visit = visit_days;
	s->files.dir = strdup(opt->dir);
	if (!s->files.dir)
		return -ENOMEM;
	r = day_files_check_dir(s->files.dir, err);
	if (r == 0)
		r = check_directory(s->files.dir, err);
	if (r == 0)
		r = replica_days_new(&s->days, s->files.dir, opt->max_memory);
	if (r < 0)
		return r;
	s->files.base.ops = &ops;
	*out = &steal_ptr(&s)->files.base;
	return 0;
}
