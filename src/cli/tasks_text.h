/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Prints snapshots of tasks: as text for people, and as JSON. */
#include <stdbool.h>
#include <stdint.h>

#include "tasks/task_findings.h"
#include "tasks/task_groups.h"

struct buf;
struct task_snapshot;

/* One snapshot, and what was derived from it. */
struct tasks_view {
	uint32_t pid;
	char comm[16];
	uint64_t took_ns;
	const struct task_snapshot *s;
	struct task_sums sums;
	struct task_groups groups;
	struct task_findings findings;
	/* With --watch; NULL: no earlier snapshot. For each group, the change of its count. */
	const int64_t *growth;
	uint64_t since_ns; /* length of time of the growth */
};

struct tasks_text_options {
	uint64_t limit; /* groups; 0: all */
	bool system;    /* shows groups of the runtime's own tasks too */
};

/* Append. Memory errors stick to @out. */
void tasks_text_put(struct buf *out, const struct tasks_view *v,
		    const struct tasks_text_options *opt);
/* Appends the groups whose count has changed; those that grow come first. */
void tasks_text_put_growth(struct buf *out, const struct tasks_view *v,
			   const struct tasks_text_options *opt);
/* One line of JSON. */
void tasks_text_put_json(struct buf *out, const struct tasks_view *v,
			 const struct tasks_text_options *opt);
