/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Guesses which goroutine holds a lock. Go does not record it, but a goroutine that holds a lock
 * and waits for another one usually has the address of the first, or of the structure that begins
 * with it, on its stack. It does not find locks that are held by goroutines which do not wait for a
 * lock, or locks in global variables whose address is not on the holder's stack.
 */
#include <stdint.h>

#include "base/vec.h"

struct task_memory;
struct task_snapshot;

struct golang_waiter {
	uint32_t task; /* index in the snapshot; its object is set */
	uint64_t sp, hi;
};

struct golang_holders {
	VEC(struct golang_waiter);
};

/* Adds a goroutine that waits for a lock; beyond a maximum, it is ignored. Returns 0 or -ENOMEM. */
int golang_holders_add(struct golang_holders *h, const struct golang_waiter *w);

/* Sets waits_for of the added tasks whose lock has a holder that is found. Returns 0 or -ENOMEM. */
int golang_holders_find(const struct golang_holders *h, struct task_memory *m,
			struct task_snapshot *s);
