/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Captures the data that one stack walk needs, and replays the walk elsewhere. A capture is a core
 * file (capture/core.h) that holds the registers of one thread, its executable mappings, the words
 * of memory that the walk read, and of each file on the stack the parts that unwinding and symbols
 * come from. All other memory of the process reads as zero, so that a capture can be attached to a
 * bug report and stored as a test fixture.
 *
 * A capture discloses pointers and return addresses of one stack, names of mapped files, and the
 * code of files on the stack. Other memory is included only where the walk read it: an
 * interpreter's names of functions and files, and the objects that lead to them.
 */
#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;

struct capture_options {
	int pid, tid;     /* tid 0: the main thread */
	bool whole_files; /* store complete copies of the files on the stack, regardless of their
			     size */
};

/**
 * capture_take() - capture one thread of a running process
 *
 * Stops the thread with ptrace(2), walks its stack, and resumes it before the file is put
 * together. Writes the core file into @out and the stack trace into @trace. Return: 0; -errno with
 * the reason (-ESRCH: no such thread, -EPERM: it may not be traced).
 */
int capture_take(const struct capture_options *opt, struct buf *out, struct buf *trace,
		 struct err *err);

/*
 * Like capture_take(), for a thread that the caller has stopped with ptrace(2); it stays stopped.
 * The replay tests use it, since they hold the thread at an instruction of their choice.
 */
int capture_stopped(const struct capture_options *opt, struct buf *out, struct buf *trace,
		    struct err *err);

/* The result of replaying a capture. */
struct capture_replay {
	bool has_expected; /* the file contains the stack trace from the time of the capture */
	bool differs;      /* and the walk now produces a different one */
	size_t n_partial;  /* number of files on the stack of which only the stored parts are
			      available */
	size_t n_missing;  /* number of files on the stack that are not available */
};

/**
 * capture_replay() - walk the stack in the core file @data
 *
 * A mapped file is read from this machine if it has the size and build id of the captured one,
 * else from the parts in the capture, else its frames are walked by frame pointers. Writes the
 * stack trace into @trace and, if it differs from the captured one, that one into @expected.
 * @data is untrusted; a caller that maps it runs under sigbus_run(). Nothing of the core is
 * executed. This machine's file is opened by the path that the core names, as a regular file and
 * for reading.
 *
 * Return: 0; -EBADMSG with the reason if @data is not a core file that can be walked; -ENOMEM.
 */
int capture_replay(const void *data, size_t len, struct buf *trace, struct buf *expected,
		   struct capture_replay *out, struct err *err);
