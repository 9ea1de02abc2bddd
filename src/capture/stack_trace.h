/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One stack trace of one stopped thread, walked by the code that runs in the kernel
 * (bpf/lib/walk.h, built for the host), with an explanation of each frame. The memory is read by
 * a callback: from a stopped process when a capture is made, from its file when it is replayed.
 *
 * Usage: new, add each executable mapping in ascending order of address, walk, print. One thread.
 *
 * The printed text is compared byte by byte when a capture is replayed, so it contains nothing that
 * differs from run to run: no times, and no numbers of descriptors.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bpf/shared/abi.h"

struct buf;
struct stack_trace;

struct stack_trace_mapping {
	uint64_t start, end, file_off;
	const char *path;  /* the path to show; "" for anonymous memory; copied */
	const char *open;  /* what to open, a path of its own for each file; NULL: no file */
	const void *bytes; /* the file's bytes where it has no path (the vDSO); borrowed */
};

struct stack_trace_thread {
	int pid;
	uint64_t regs[UREG_COUNT];
	uint64_t thread_pointer;
	int (*read)(void *ctx, uint64_t addr, void *dst, size_t len); /* 0 or negative */
	void *ctx;
};

/* Returns 0 or -ENOMEM. */
int stack_trace_new(struct stack_trace **out);
void stack_trace_free(struct stack_trace *t);

DEFINE_FREEP(struct stack_trace, stack_trace_free)

/* Returns 0 or -ENOMEM. A file that cannot be read is walked by frame pointers. */
int stack_trace_add(struct stack_trace *t, const struct stack_trace_mapping *m);

/*
 * Walks the thread's stack and reads the frames of language runtimes. Returns 0, -ENOSPC or
 * -ENOMEM. Call it once. An incomplete stack is a result and no error: stack_trace_is_complete()
 * reports it.
 */
int stack_trace_walk(struct stack_trace *t, const struct stack_trace_thread *thread);

/* Is a frame of the walked stack in the file shown as @path? */
bool stack_trace_has_file(const struct stack_trace *t, const char *path);

/* Is the file shown as @path a language runtime? */
bool stack_trace_is_runtime(const struct stack_trace *t, const char *path);

/*
 * Writes the frames, leaf first: number, address, function, file and offset, and below each native
 * frame the unwind rule that leads to its caller. The caller checks buf_error(@out). Names in the
 * text come from the process and may contain any bytes.
 */
void stack_trace_print(struct stack_trace *t, struct buf *out);
