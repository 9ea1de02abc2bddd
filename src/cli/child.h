/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The command of `cameo record -- COMMAND`. It is held before its first instruction until the
 * profiler is attached. Use: child_start(), attach the profiler to pid, child_release(),
 * child_wait(); child_fini() in every case. One thread.
 */
#include <sys/resource.h>
#include <sys/types.h>

struct err;

struct child {
	pid_t pid;   /* 0: none */
	int go_fd;   /* closing it releases the child */
	int exec_fd; /* errno of a failed exec; end of file after a successful one */
	int pid_fd;  /* becomes readable when the child ends */
};

#define CHILD_NONE ((struct child){ .go_fd = -1, .exec_fd = -1, .pid_fd = -1 })

/*
 * Forks a child that will run @argv with the limit @n_files of open files. Returns 0 or -errno. The
 * child inherits everything else of this process, so it must be started before priorities or limits
 * are changed. Signals are unblocked before exec.
 */
int child_start(struct child *c, char **argv, const struct rlimit *n_files, struct err *err);

/*
 * Lets the child run @name. Returns 0; -ENOENT, -EACCES and so on if it cannot be executed and has
 * ended.
 */
int child_release(struct child *c, const char *name, struct err *err);

/*
 * Waits for the end. Returns the exit status as a shell reports it: 128 + the signal, if any. pid
 * is 0 afterwards.
 */
int child_wait(struct child *c);

/* Kills a child that was not released, and closes the descriptors. */
void child_fini(struct child *c);
