/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The worker's files: each key's DWARF and the symbol tables that only the
 * worker may read (of debug files and .gnu_debugdata), within a budget.
 */
#include <stddef.h>
#include <stdint.h>

#include "symbol/protocol.h"

struct worker_files;

/* Asks the parent: a descriptor that becomes the caller's, or -errno. */
typedef int (*worker_need_fn)(void *ctx, const struct protocol_need *need);

int worker_files_new(struct worker_files **out, size_t max_bytes, worker_need_fn need, void *ctx);
void worker_files_free(struct worker_files *fs);

/**
 * worker_files_frames() - the frames at @vaddr of file @key
 *
 * out[0] is the innermost; strings are borrowed until the next call.
 *
 * Return: their number; 0 if nothing is known there; -ENOMEM.
 */
int worker_files_frames(struct worker_files *fs, uint64_t key, uint64_t vaddr,
			struct protocol_frame *out, size_t cap);

/* No more of the file asked about last for now: what was read of it takes no memory meanwhile. */
void worker_files_rest(struct worker_files *fs);
