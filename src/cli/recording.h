/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What `cameo record` does once its options are known. */
#include <stdbool.h>
#include <stdint.h>

#include "agent/events.h"
#include "agent/names.h"
#include "cli/args.h"
#include "symbol/symbolizer.h"

struct err;
struct format;

struct recording_opts {
	struct pid_list pids; /* none and no command: everything */
	char **command;       /* NULL: none */
	const char *cgroup;   /* its name or directory; NULL: all */
	uint32_t freq_hz;
	struct event_list events; /* what is sampled; none: the CPUs' clocks, by frequency */
	uint32_t max_stack;       /* frames from the leaf; 0: all */
	bool per_thread;          /* a root for each thread */
	uint64_t duration_ns;     /* 0: until it ends by itself or by a signal */
	bool no_kernel, no_user, idle, verbose;
	enum names_what what; /* time on the CPU, off it, or both */
	bool locks_only;      /* of that off it, only what waits for locks */
	uint64_t off_min_ns;  /* shorter waits are left out */
	bool no_children;     /* of the processes asked for */
	bool all_native;      /* interpreters' native frames too */
	bool signatures;      /* Java's methods with their parameters */
	struct symbolizer_opts symbolizer;
	const char *path;
	const struct format *format;
};

/**
 * recording_run() - sample, and write the file
 *
 * Return: 0 and *@out_status, the exit status (a command's own); -errno with
 * the reason. A command that can't be run is no error here: its status is 126
 * or 127 and the reason is in @err.
 */
int recording_run(const struct recording_opts *o, int *out_status, struct err *err);
