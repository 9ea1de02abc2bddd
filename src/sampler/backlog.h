/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A queue of ring buffer records that wait to be processed, oldest first. It bounds memory by
 * truncating raw stacks rather than by dropping records. Not thread-safe, but one thread may
 * put while another uses the result of backlog_peek(): that record does not move. See
 * ring_reader.h for the lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct backlog;

/* @max_bytes is the soft limit described at backlog_put(). Returns 0 or -ENOMEM. */
int backlog_new(struct backlog **out, size_t max_bytes);
void backlog_free(struct backlog *b);

DEFINE_FREEP(struct backlog, backlog_free)

/*
 * Appends a copy of @record. From half of the limit on, the stack of a RECORD_RAW is
 * truncated to RAW_STACK_SHORT bytes, as the BPF program does when the ring fills up; above
 * the limit, to 1 KiB. Returns 0 or -ENOMEM.
 */
int backlog_put(struct backlog *b, const void *record, size_t len);

/* The oldest record, borrowed until backlog_pop(); NULL if there is none. */
const void *backlog_peek(const struct backlog *b, size_t *out_len);
void backlog_pop(struct backlog *b);

/* Above the limit: records should be processed faster, at the cost of detail. */
bool backlog_is_over_limit(const struct backlog *b);
/* A quarter above the limit: the caller must not add more. */
bool backlog_is_full(const struct backlog *b);
size_t backlog_bytes(const struct backlog *b);
/*
 * Time of the oldest record (CLOCK_MONOTONIC, from its header); UINT64_MAX if
 * there is none.
 */
uint64_t backlog_since_ns(const struct backlog *b);
