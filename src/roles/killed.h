/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Children that were killed, until they are dead. Nobody waits for them: one that hangs in the
 * kernel may never die. One thread at a time.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct killed_child {
	pid_t pid;
	uint64_t owner;   /* of its last request; 0: none */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	bool is_released; /* its memory, if killed_are_released() */
};

struct killed {
	VEC(struct killed_child);
};

/* Returns whether the kernel can release the memory of processes that were killed and hang. */
bool killed_are_released(void);

/* Kills @pid, which worked for @owner, and remembers it. */
void killed_add(struct killed *k, pid_t pid, uint64_t owner, uint64_t now_ns);

/*
 * Reaps those that are dead. Returns the number of those that were killed over a second before
 * @now_ns and are not, and releases their memory.
 */
unsigned int killed_reap(struct killed *k, uint64_t now_ns);

/* The number of those that are not reaped and worked for @owner; 0: for any owner. */
unsigned int killed_of(const struct killed *k, uint64_t owner);

struct killed_limits {
	unsigned int max, max_by_owner; /* 0: no limit for each owner */
};

/*
 * Returns true if @owner, unless that is 0, may not cause more: max_by_owner of its children are
 * not reaped, or one, once half of max are not reaped. The last quarter is for those without an
 * owner.
 */
bool killed_are_too_many(const struct killed *k, uint64_t owner, const struct killed_limits *l);
