/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Who a process is where its files are: its root directory, pid in its own namespace, user. */
#include <sys/types.h>

struct proc_ids {
	int root_fd; /* the caller's to close */
	pid_t ns_pid;
	uid_t uid; /* effective */
};

/* 0, -ESRCH when it is gone, -errno. */
int proc_ids_read(struct proc_ids *out, pid_t pid);
