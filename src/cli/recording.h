/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The recording itself, once the options of `cameo record` are known. It owns all resources of one
 * recording and releases them before it returns. It changes the process: signals are blocked and
 * the limit of open files is raised.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cli/args.h"
#include "sampler/events.h"
#include "symbol/symbolizer.h"
#include "symbolize/symbolize.h"

struct recording_opts {
	struct pid_list pids;     /* empty, without a command and a cgroup: the whole machine */
	char **command;           /* ends with NULL; NULL: none */
	const char *cgroup;       /* its path in the hierarchy or its directory; NULL: none */
	const char *const *rules; /* of selection (metadata/select_rules.h) */
	size_t n_rules;           /* without --pid and a command */
	uint32_t freq_hz;
	struct event_list events; /* what is sampled; empty: CPU time, at freq_hz */
	uint32_t max_stack;       /* frames from the leaf; 0: all */
	bool per_thread;          /* a root for each thread */
	uint64_t duration_ns;     /* 0: unlimited */
	bool no_kernel, no_user;  /* omit these frames */
	bool idle, verbose;
	enum symbolize_mode what; /* CPU time, off-CPU time, both, or memory */
	uint64_t alloc_bytes;     /* of heap allocations: mean bytes between two samples */
	unsigned int alloc_share; /* and CPU time that probes may take, in percent; 100: no limit */
	bool locks_only;          /* of off-CPU time, only waits for locks */
	uint64_t off_min_ns;      /* shorter waits are skipped */
	bool wakers;              /* record who ends waits */
	bool no_children;         /* exclude children of the selected processes */
	bool all_native;          /* show the native frames of interpreters */
	bool signatures;          /* show Java methods with their parameters */
	struct symbolizer_opts symbolizer;
	const char *path; /* "-": standard output */
	/*
	 * Paths of files that the caller has opened and writes after the recording, for which
	 * capabilities are kept; ends with NULL. NULL: none.
	 */
	const char *const *more_outputs;
	const struct format *format;
};

/**
 * recording_run() - record, write the profile and print the summary
 *
 * Everything that @o points to is borrowed for the call.
 *
 * Return: 0 and in *@out_status the exit status, which is the command's if there is one; -errno
 * with the reason. A command that cannot be executed is not an error here: *@out_status is 126 or
 * 127, and the reason is in @err.
 */
int recording_run(const struct recording_opts *o, int *out_status, struct err *err);
