/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The profiles of one tenant and one UTC day: a file, and what its numbers
 * stand for in memory. One thread at a time appends and commits; others may
 * ask meanwhile and see what was committed.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "store/store.h"
#include "store/sums.h"

struct day;
struct day_state;
struct intern_keys;

/* 0; -EBADMSG when the file is damaged or somebody else's; -ENOSPC; -errno. */
int day_open(struct day **out, const char *path, struct err *err);
void day_close(struct day *d);

DEFINE_FREEP(struct day, day_close)

/* A transaction: what is appended is seen, and safe, once day_commit() gave 0. */
int day_begin(struct day *d, struct err *err);
int day_append(struct day *d, const struct store_profile *p, const struct intern_keys *keys,
	       struct err *err);

/* What is appended after a mark can be undone alone. */
int day_mark(struct day *d, struct err *err);
int day_unmark(struct day *d, bool keep, struct err *err);

int day_commit(struct day *d, struct err *err);
void day_rollback(struct day *d);

/* For store/ask.h. */
struct day_state *day_state(struct day *d);

/*
 * Sums (store/sums.h): find what is worth one and has been left alone since the last
 * time; build it, in any thread but one at a time; keep it, as a thread that appends.
 */
int day_find_sums(struct day *d, int64_t before_ns, struct sums_slots *out, struct err *err);
int day_build_sum(struct day *d, const struct sums_slot *slot, struct sums_builder *b,
		  struct err *err);
int day_put_sum(struct day *d, const struct sums_slot *slot, const struct sums_builder *b,
		struct err *err);

/* The first and the last time; -ENOENT when there is none. */
int day_span(struct day *d, int64_t *out_first, int64_t *out_last);
