/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The files that the worker process has open: for each key, its DWARF and the
 * symbol tables that only the worker may parse (those of debug files and of
 * .gnu_debugdata), within a memory budget. The worker has one thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "symbol/protocol.h"

struct worker_files;

/* Requests a file from the parent. Returns a descriptor owned by the caller, or -errno. */
typedef int (*worker_need_fn)(void *ctx, const struct protocol_need *need);

/*
 * @max_bytes limits the memory of what was parsed; the files used least recently are closed first.
 * @ctx is passed to @need. Returns 0 or -ENOMEM.
 */
int worker_files_new(struct worker_files **out, size_t max_bytes, worker_need_fn need, void *ctx);

/* Closes all files. The worker process itself exits without it. */
void worker_files_free(struct worker_files *fs);

/**
 * worker_files_frames() - find the frames at @vaddr in file @key
 *
 * @out has room for @cap frames; out[0] is the innermost. Strings are borrowed
 * until the next call.
 *
 * Return: the number of frames; 0 if no symbol covers @vaddr; -ENOMEM.
 */
int worker_files_frames(struct worker_files *fs, uint64_t key, uint64_t vaddr,
			struct protocol_frame *out, size_t cap);

/* Releases the resident pages of the file that was used last. Call it at the end of a request. */
void worker_files_release_pages(struct worker_files *fs);
