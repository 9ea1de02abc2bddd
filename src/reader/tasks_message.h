/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The messages of READER_TASKS: read the tasks of a process (lang/tasks/task_snapshot.h).
 * Descriptor 0 is the memory of the process, 1 the file of its runtime, 2 a file that belongs to it
 * (_asyncio), or it is missing. PARTs are pieces of one
 * stream, a snapshot: a struct tasks_head, the strings {length, bytes}, the frames, the stacks
 * {number, ids} and the tasks. The reply is empty.
 *
 * Pure functions. Checks do not trust the bytes.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lang/tasks/task_snapshot.h"

enum { TASKS_STREAM_MAX = 128 << 20 };

struct tasks_request {
	uint32_t runtime;   /* enum task_runtime */
	uint32_t max;       /* tasks; of more, a sample is read; at most TASKS_MAX */
	uint64_t code_addr; /* where the process has mapped ... */
	uint64_t code_off;  /* ... this offset of the runtime's file (process_source.h) */
	uint32_t limit_ms;  /* the reader ends with what it has after that time */
	uint32_t reserved;
};

struct tasks_head {
	char runtime[16], version[24];
	struct task_totals totals;
	uint32_t n_strings, n_frames, n_stacks, n_tasks;
};

/* Appends the snapshot. Memory errors stick to the buffer. */
void tasks_message_put(struct buf *b, const struct task_snapshot *s);

/*
 * Fills an initialized snapshot from a stream. Return: 0; -EBADMSG if a reader that works as
 * intended would not send this; -ENOMEM.
 */
int tasks_message_read(const uint8_t *data, size_t len, struct task_snapshot *out);
