/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Groups the tasks of a snapshot by stack, state and reason, the largest first. Counts are scaled
 * if the snapshot is a sample.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "lang/tasks/task_snapshot.h"

struct task_group {
	uint32_t stack, reason; /* of the snapshot */
	uint8_t state, wake;
	bool is_system;
	uint64_t count;
	uint64_t n_seen; /* count without the scaling */
	/* These count tasks whose waiting time is known; ns, not scaled. */
	uint64_t n_timed, total_ns, longest_ns;
	uint64_t key; /* the group's identity in other snapshots of the process */
};

struct task_groups {
	VEC(struct task_group);
};

/* The sums of all groups. */
struct task_sums {
	uint64_t tasks, system;            /* the program's own, the runtime's */
	uint64_t by_state[TASK_STATE_MAX]; /* of the program's own */
};

/* Returns 0 or -ENOMEM. Freed with vec_fini(). */
int task_groups_build(const struct task_snapshot *s, struct task_groups *out);

void task_sums_build(const struct task_snapshot *s, struct task_sums *out);

/* How long @t has waited at the time of the snapshot, in ns; 0: unknown. */
uint64_t task_wait_ns(const struct task_snapshot *s, const struct task *t);

/* The innermost frame that is not of the standard library, or the innermost; NULL: no frames. */
const struct task_frame *task_group_place(const struct task_snapshot *s,
					  const struct task_group *g);

/* "running", "runnable", "system call", "waiting". */
const char *task_state_name(uint8_t state);

/* The reason, or the name of the state if there is none. */
const char *task_group_reason(const struct task_snapshot *s, const struct task_group *g);
