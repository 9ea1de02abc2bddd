/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The growth of a process's groups of tasks since its first snapshot. It holds one entry per group
 * of that snapshot. One thread.
 */
#include <stdint.h>

#include "base/index.h"
#include "base/vec.h"
#include "tasks/task_groups.h"

struct task_first_size {
	uint64_t key; /* of struct task_group */
	uint64_t count;
};

struct task_growth {
	struct {
		VEC(struct task_first_size);
	} first;
	struct index by_key;
};

void task_growth_fini(struct task_growth *t);

/* Remembers the sizes of the groups of the first snapshot. Returns 0 or -ENOMEM. */
int task_growth_begin(struct task_growth *t, const struct task_groups *groups);

/*
 * Returns the growth of each group, in the same order; a group that is new counts from 0. The
 * caller frees the array. NULL: out of memory.
 */
int64_t *task_growth_of(const struct task_growth *t, const struct task_groups *groups);
