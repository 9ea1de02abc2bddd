/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Starts children of a role that needs privileges to be confined: only root can give a process a
 * user of its own, and the system call filter that the parent installs later would apply to its
 * children as well. A launcher is a child that was started and confined before; it does nothing
 * but fork copies of itself, and so never sees foreign data. A copy ends when its socket is closed
 * or the launcher ends. Any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct err;
struct role;
struct role_launcher;

/* Starts the launcher of @role, which is borrowed. Returns 0 or -errno. */
int role_launcher_new(struct role_launcher **out, const struct role *role, size_t memory_bytes,
		      struct err *err);
/* Ends the launcher and all processes that it has started. @l may be NULL. */
void role_launcher_free(struct role_launcher *l);

DEFINE_FREEP(struct role_launcher, role_launcher_free)

/*
 * Starts a copy, which the caller removes from the registry (registry.h) when it closes the socket.
 * Returns 0 with its pid and this process's end of its socket; -EPIPE if the
 * launcher is dead; -ETIMEDOUT; -errno.
 */
int role_launcher_start(struct role_launcher *l, pid_t *out_pid, int *out_sock, struct err *err);

/* Returns true if the launcher has died. No copy can be started any more. */
bool role_launcher_is_dead(struct role_launcher *l);

pid_t role_launcher_pid(const struct role_launcher *l);
