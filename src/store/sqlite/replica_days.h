/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The open days of a replica: a copy of a store that somebody else makes and updates, and in which
 * this process changes nothing. A day stays open while its files are unchanged. A query during
 * which they changed fails, because it may have read a part of both states. Any thread.
 */
#include <stddef.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "store/sqlite/sqlite_query.h"

struct replica_days;

/*
 * Files that changed this recently may change again without another stamp (day_files.h), in the
 * same tick of the file system's clock.
 */
#define REPLICA_SETTLED_NS (2 * (int64_t)CLOCK_SECOND_NS)

/*
 * @dir is borrowed. Days that no query uses stay open while all need at most @max_bytes; 0 is 1
 * GiB. Returns 0 or -ENOMEM.
 */
int replica_days_new(struct replica_days **out, const char *dir, size_t max_bytes);
/* No query may be in progress. */
void replica_days_free(struct replica_days *all);

DEFINE_FREEP(struct replica_days, replica_days_free)

/*
 * Does what sqlite_days.visit() does. Returns -EUCLEAN if a file is damaged, lost or older than the
 * manifest says; -EAGAIN if files changed meanwhile, or if a copy is being made; -errno.
 */
int replica_days_visit(struct replica_days *all, const struct store_select *sel, day_visit_fn fn,
		       void *ctx, struct err *err);

/* Closes all days that no query uses. */
void replica_days_shrink(struct replica_days *all);
