/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The child processes of all pools of this process that are alive, with those that were killed and
 * are not dead yet: what they use counts as this process's use. Any thread.
 */
#include <stddef.h>
#include <sys/types.h>

enum { ROLE_CHILDREN_MAX = 256 };

/* Beyond ROLE_CHILDREN_MAX, a child is not listed. */
void role_registry_add(pid_t pid);
/* Does nothing if @pid is not listed. */
void role_registry_remove(pid_t pid);

/* Writes at most @max pids. Returns their number. */
size_t role_registry_pids(pid_t *out, size_t max);
