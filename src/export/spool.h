/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Items on disk: one file per item, for all sinks in one directory, whose size is limited by
 * removing the oldest. Items survive a restart; a damaged file is renamed and counted. All
 * functions may be called from any thread.
 *
 * A spool belongs to one process at a time (lock file). Order is kept per sink, not between sinks.
 * Limits: max_bytes and 16,384 items together; the oldest of all sinks are evicted first, because
 * old profiles are the least useful ones for every destination. An item is at most 64 MiB.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct err;
struct export_item;
struct spool;

struct spool_usage {
	uint64_t items, bytes; /* with claimed ones */
	uint64_t unclaimed;
	uint64_t evicted, damaged; /* since it was opened */
};

/*
 * Opens a directory, creating it if it is missing; no other user may write to it. Returns 0; -EBUSY
 * if another process uses it; -EPERM or another -errno with the reason in @err. Items of an earlier
 * process are found by their names; their age continues from the files' modification times.
 */
int spool_open(struct spool **out, const char *dir, uint64_t max_bytes, struct err *err);
void spool_close(struct spool *s);

/* Adds an owner: the spool closes when all owners have closed it. Returns @s. */
struct spool *spool_share(struct spool *s);
bool spool_is_at(const struct spool *s, const char *dir);

DEFINE_FREEP(struct spool, spool_close)

/* A stable number for a sink, derived from its name. */
uint32_t spool_sink(const char *name);

/*
 * Writes @item, which remains the caller's. Returns 0; -EFBIG beyond the limit; -errno. The item is
 * in the spool when it returns 0, but may be evicted at once by others. Nothing is flushed to disk.
 */
int spool_put(struct spool *s, uint32_t sink, const struct export_item *item);

/*
 * Claims and reads the oldest unclaimed item of @sink. Its file remains until spool_remove();
 * spool_release() gives up the claim. Returns 0 and a new item with seq set; -ENOENT if there is
 * none; -ENOMEM; -EMFILE. A claim keeps two threads from sending the same item; it does not protect
 * from eviction. Damaged items are skipped.
 */
int spool_claim(struct spool *s, uint32_t sink, struct export_item **out);

/* Makes an item available to be claimed again. */
void spool_release(struct spool *s, uint32_t sink, uint64_t seq);

/* Deletes an item; does nothing if it was evicted before. */
void spool_remove(struct spool *s, uint32_t sink, uint64_t seq);

void spool_usage(struct spool *s, uint32_t sink, struct spool_usage *out);

/* The number of items of other sinks than @sinks, left from an earlier configuration. */
uint64_t spool_n_unconfigured(struct spool *s, const uint32_t *sinks, size_t n_sinks);
