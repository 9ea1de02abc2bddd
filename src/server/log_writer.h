/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A log file that a thread of its own writes, so that a full disk or a pipe that nobody reads
 * delays nobody else. Lines wait in a queue of bounded size; lines that do not fit, or cannot be
 * written, are counted and lost. The file is opened again within about a second after a rotation
 * has renamed it.
 */
#include <stdatomic.h>
#include <stddef.h>

#include "base/cleanup.h"

struct err;
struct log_writer;

enum { LOG_WRITER_QUEUE = 1 << 20 /* bytes */ };

/*
 * @path is borrowed; "-" is standard output. @lost is increased by the number of lost lines. A pipe
 * must have a reader. Returns 0, or -errno with the reason in @err.
 */
int log_writer_open(struct log_writer **out, const char *path, atomic_uint_fast64_t *lost,
		    struct err *err);

/* Writes the queued lines, but waits at most two seconds for a reader. @w may be NULL. */
void log_writer_close(struct log_writer *w);

DEFINE_FREEP(struct log_writer, log_writer_close)

/* Queues a line with its newline. Any thread; never waits for the file. */
void log_writer_put(struct log_writer *w, const void *line, size_t len);
