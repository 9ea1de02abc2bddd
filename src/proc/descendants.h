/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The children of a process, their children, and so on, from /proc. */
#include <stdint.h>

#include "base/vec.h"

struct proc_pids {
	VEC(uint32_t);
};

/*
 * Appends the descendants of @pid to @out, parents before their children. Processes that start or
 * end meanwhile may be missing; so are those whose parent has ended, which belong to another
 * process since. Return: 0; -ENOMEM; -errno if /proc cannot be read.
 */
int proc_descendants(uint32_t pid, struct proc_pids *out);
