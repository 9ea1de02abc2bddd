/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/**
 * cgroup_open() - open the directory of a cgroup
 *
 * @name is its path in the hierarchy, as in /proc/PID/cgroup, or its directory in the file
 * system. The hierarchy is the one that perf events use: the unified hierarchy, or version
 * 1's perf_event.
 *
 * Return: a descriptor, which the caller closes; -ENOENT if there is no such cgroup; -errno.
 */
int cgroup_open(const char *name);

/* Returns true if the directory @fd is a cgroup of the unified hierarchy (v2). */
bool cgroup_is_unified(int fd);
