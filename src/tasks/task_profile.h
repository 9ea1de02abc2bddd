/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A snapshot as a profile: the number of tasks and the time that they have waited so far, with the
 * labels "state", "reason" and, for the runtime's own tasks, "system".
 */
struct profile;
struct task_snapshot;

/*
 * Adds the tasks to @p, which has no sample types or those of an earlier call: "tasks" in "count"
 * and "task_wait" in "nanoseconds". Values are scaled if the snapshot is a sample. Return: 0;
 * -ENOMEM.
 */
int task_profile_add(struct profile *p, const struct task_snapshot *s);
