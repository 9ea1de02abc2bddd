/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The files of a process that may be a runtime whose tasks can be read (lang/tasks/task_readers.h),
 * judged by their names: whether they are, a reader finds out. One thread; opener_start() must have
 * been called.
 */
#include <stdint.h>

#include "reader/tasks_message.h"

struct err;

enum { TASKS_FILES_MAX = 6 };

struct tasks_file {
	uint32_t runtime; /* enum task_runtime */
	int fd;
	/* The file offset code_off is mapped at code_addr; PROCESS_PROGRAM: see there. */
	uint64_t code_addr, code_off;
};

struct tasks_files {
	struct tasks_file all[TASKS_FILES_MAX]; /* in the order in which to try them */
	uint32_t n;
	int module; /* _asyncio, a part of Python; -1: it is not mapped */
};

/*
 * Opens the files of process @pid, to be closed with tasks_files_fini(). Return: 0; -ESRCH; -errno
 * with the reason in @err. @out is initialized in any case.
 */
int tasks_files_find(uint32_t pid, struct tasks_files *out, struct err *err);
void tasks_files_fini(struct tasks_files *f);

/* Opens /proc/PID/@name for a process with a thread that is alive. Returns a descriptor; -errno. */
int tasks_files_open(uint32_t pid, const char *name);
