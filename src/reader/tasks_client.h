/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Snapshots of the tasks of one process, which a reader takes (tasks_message.h). The process is not
 * stopped. One thread; opener_start() must have been called.
 */
#include <stdint.h>

#include "base/cleanup.h"

struct err;
struct task_snapshot;
struct tasks_client;

struct tasks_client_opts {
	uint32_t pid;
	uint32_t max;      /* tasks of a snapshot; at most TASKS_MAX */
	uint32_t limit_ms; /* time of a snapshot, after which it is incomplete */
};

/*
 * Finds the runtime of the process. Return: 0; -ENOENT if it has none that is supported; -ESRCH;
 * -errno with the reason in @err.
 */
int tasks_client_new(struct tasks_client **out, const struct tasks_client_opts *opts,
		     struct err *err);
void tasks_client_free(struct tasks_client *c);

DEFINE_FREEP(struct tasks_client, tasks_client_free)

/*
 * Reads the tasks into an initialized snapshot. Return: 0; -ESRCH if the process has ended or runs
 * another program; -ETIMEDOUT if its memory did not respond; -errno with the reason in @err.
 */
int tasks_client_read(struct tasks_client *c, struct task_snapshot *out, struct err *err);
