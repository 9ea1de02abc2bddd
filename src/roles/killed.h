/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Children that were killed, until they are dead. Nobody waits for them: one that hangs in the
 * kernel may never die. One thread at a time.
 */
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct killed_child {
	pid_t pid;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
};

struct killed {
	VEC(struct killed_child);
};

/* Kills @pid and remembers it. */
void killed_add(struct killed *k, pid_t pid, uint64_t now_ns);

/*
 * Reaps those that are dead. Returns the number of those that were killed over a second before
 * @now_ns and are not.
 */
unsigned int killed_reap(struct killed *k, uint64_t now_ns);
