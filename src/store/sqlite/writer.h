/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The single thread that writes to the days of a store.
 *
 * SQLite allows one writer per file, and a single thread makes pushes cheap: all callers that wait
 * share a transaction and thus one flush. There is no queue limit here; each caller waits, so the
 * server's limit on requests bounds the queue.
 */
#include <stddef.h>

#include "base/cleanup.h"

struct day_cache;
struct err;
struct store_profile;
struct writer;

typedef int (*writer_fn)(void *ctx, struct err *err);

/* Starts the thread. @days must outlive the writer. Returns 0 or -errno. */
int writer_new(struct writer **out, struct day_cache *days);
/* No other call may be in progress. */
void writer_free(struct writer *w);

DEFINE_FREEP(struct writer, writer_free)

/*
 * Does what store_append() does, which has checked tenant and times. Blocks until the profiles are
 * stored. Returns the same values as store_append(). Profiles are borrowed until it returns. It
 * computes the keys of all stacks before it queues.
 */
int writer_append(struct writer *w, const char *tenant, const struct store_profile *profiles,
		  size_t n, struct err *err);

/*
 * Calls @fn in the writer thread, between its transactions, and returns what it returns. @fn has
 * the days to itself as far as writing is concerned. It must not call the writer.
 */
int writer_run(struct writer *w, writer_fn fn, void *ctx, struct err *err);
