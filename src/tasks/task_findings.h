/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds errors of the program in a snapshot: tasks that wait for each other in a circle, and
 * programs in which every task waits for another one. Both are conclusions from what is known of a
 * task (task.waits_for, task.wake), so a program that cannot continue may also have no finding.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "lang/tasks/task_snapshot.h"

enum { TASK_CIRCLE_MAX = 16, TASK_CIRCLES_MAX = 64 };

/* Tasks of which each waits for the next one and the last for the first: indexes. */
struct task_circle {
	uint32_t n;
	uint32_t tasks[TASK_CIRCLE_MAX];
};

struct task_findings {
	/* None of the program's tasks can run, and no event will wake one. */
	bool all_wait;
	struct {
		VEC(struct task_circle);
	} circles;
};

/* Returns 0 or -ENOMEM. */
int task_findings_build(const struct task_snapshot *s, struct task_findings *out);
void task_findings_fini(struct task_findings *f);
