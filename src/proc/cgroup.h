/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/**
 * cgroup_open() - the directory of a cgroup
 *
 * @name is its path in the hierarchy, as /proc/PID/cgroup has it, or its
 * directory. The hierarchy is the one that perf events are in: the unified
 * one, or version 1's perf_event.
 *
 * Return: a descriptor; -ENOENT, -errno.
 */
int cgroup_open(const char *name);

/* Is the directory @fd a cgroup of the unified hierarchy? */
bool cgroup_is_unified(int fd);
