/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The command that `cameo record -- CMD` runs: held before its first instruction until released. */
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct err;

struct child {
	pid_t pid;   /* 0: none */
	int go_fd;   /* closing it releases the child */
	int exec_fd; /* tells why exec failed; EOF when it did not */
	int pid_fd;
};

#define CHILD_NONE ((struct child){ .go_fd = -1, .exec_fd = -1, .pid_fd = -1 })

/* Fork a child that will run @argv with the limit @n_files of open files. 0 or -errno. */
int child_start(struct child *c, char **argv, const struct rlimit *n_files, struct err *err);

/* Let it run: 0; -ENOENT, -EACCES, ... when the command can't be executed (it has ended then). */
int child_release(struct child *c, const char *name, struct err *err);

/* Wait for its end: the exit status as a shell reports it (128 + signal). */
int child_wait(struct child *c);

void child_fini(struct child *c);
