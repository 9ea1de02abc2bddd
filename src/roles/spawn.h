/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Starts this program again as a child process, in namespaces of its own where the kernel allows
 * that, and kills it without ever waiting for it: a process that hangs in the kernel (on a file
 * system that does not answer) does not even die of SIGKILL.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;

enum { SPAWN_FD = 3 }; /* the child's socket */

/* Parameters that the child needs before it reads its socket. They are passed in argv. */
struct spawn_args {
	size_t memory_bytes;
	bool in_namespaces; /* was started in a user namespace of its own */
};

/**
 * spawn_child() - execute /proc/self/exe with @name as argv[0]
 *
 * With @isolate, the child gets own PID, network, IPC and UTS namespaces, and a user namespace
 * where that needs no privilege (a privileged child changes its user itself, see sandbox.h); where
 * the kernel refuses, it gets none. Without it, the child keeps the capabilities of this process.
 *
 * Return: 0, the child's pid and the parent's end of a SOCK_SEQPACKET pair; -ELOOP in a process
 * that was started by spawn_child() itself, so that a program whose main() lacks role_main() does
 * not restart itself endlessly; -errno.
 */
int spawn_child(const char *name, size_t memory_bytes, bool isolate, pid_t *out_pid, int *out_sock,
		struct err *err);

/* Reads @args from the argv of a child. Returns 0; -ENOENT if this process is not one. */
int spawn_parse_args(int argc, char **argv, struct spawn_args *args);

/* Returns true if @pid, a child that was killed, is gone, and reaps it. Does not wait. */
bool spawn_reap(pid_t pid, int *out_status);
