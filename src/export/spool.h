/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Items on disk: one file each, of all sinks in one directory, which is kept
 * below a size by removing the oldest. What is there is found again after a
 * restart; a file that is damaged is set aside. Any thread may call.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct err;
struct export_item;
struct spool;

struct spool_usage {
	uint64_t items, bytes; /* those that somebody has among them */
	uint64_t unclaimed;
	uint64_t evicted, damaged; /* since it was opened */
};

/*
 * 0; -EBUSY when another process has it; -EPERM, -errno, and @err says why. The
 * directory is made if it is not there, and must be ours alone.
 */
int spool_open(struct spool **out, const char *dir, uint64_t max_bytes, struct err *err);
void spool_close(struct spool *s);

/* One more owner of the same spool: it is closed when the last one does. */
struct spool *spool_share(struct spool *s);
bool spool_is_at(const struct spool *s, const char *dir);

DEFINE_FREEP(struct spool, spool_close)

/* A number for a sink, the same whenever it has this name. */
uint32_t spool_sink(const char *name);

/* Write @item down; it stays the caller's. 0; -EFBIG beyond the limit; -errno. */
int spool_put(struct spool *s, uint32_t sink, const struct export_item *item);

/*
 * Read the oldest item of @sink that nobody has. It stays there, and is the caller's until
 * spool_release() or spool_remove(). 0 with seq set; -ENOENT; -ENOMEM, -EMFILE.
 */
int spool_claim(struct spool *s, uint32_t sink, struct export_item **out);

/* To be claimed again. */
void spool_release(struct spool *s, uint32_t sink, uint64_t seq);

/* It is done with. Nothing happens if it is not there any more. */
void spool_remove(struct spool *s, uint32_t sink, uint64_t seq);

void spool_usage(struct spool *s, uint32_t sink, struct spool_usage *out);

/* Items of sinks that nobody named: left by other options. */
uint64_t spool_n_strange(struct spool *s, const uint32_t *sinks, size_t n);
