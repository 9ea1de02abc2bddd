/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The properties of a process that locate and authenticate its perf map or
 * jitdump: root directory, pid in its own pid namespace, and effective user.
 */
#include <sys/types.h>

struct jit_process {
	int root_fd;  /* owned: the caller closes it */
	pid_t ns_pid; /* pid in the innermost namespace, which file names contain */
	uid_t uid;    /* effective user id */
};

/* Returns 0, -ESRCH if the process has exited, or -errno. */
int jit_process_open(struct jit_process *out, pid_t pid);
