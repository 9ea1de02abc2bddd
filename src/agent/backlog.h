/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Records of the ring that wait for their turn, oldest first. Who puts and who takes may be two
 * threads, if calls do not meet; what backlog_first() gave stays where it is meanwhile.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct backlog;

/* 0 or -ENOMEM. */
int backlog_new(struct backlog **out, size_t max_bytes);
void backlog_free(struct backlog *b);

DEFINE_FREEP(struct backlog, backlog_free)

/*
 * Keep a copy. When half of the limit is held, a RECORD_RAW has less of its stack, as the
 * sampler does it when the ring fills; beyond the limit hardly any. 0 or -ENOMEM.
 */
int backlog_put(struct backlog *b, const void *record, size_t len);

/* The oldest, until backlog_pop(); NULL: there is none. */
const void *backlog_first(const struct backlog *b, size_t *out_len);
void backlog_pop(struct backlog *b);

bool backlog_is_over(const struct backlog *b); /* the limit: it is to be worked off faster */
bool backlog_is_full(const struct backlog *b); /* a quarter more: nothing more is to be put */
size_t backlog_bytes(const struct backlog *b);
/* When the oldest was taken, by its record_header; UINT64_MAX: there is none. */
uint64_t backlog_since_ns(const struct backlog *b);
