/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The memory of a stopped process, copied a page at a time as it is read; the words that were read;
 * and corruption: words that are replaced for a while.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct memory;

int memory_new(struct memory **out, pid_t pid);
void memory_free(struct memory *m);

DEFINE_FREEP(struct memory, memory_free)

/*
 * @ctx is the memory. Returns 0 or -EFAULT; for struct lang_process and struct unwind_walk_input.
 */
int memory_read(void *ctx, uint64_t addr, void *dst, size_t len);

/*
 * Turns recording of reads on or off; recorded words may be corrupted. Each read counts equally,
 * whatever its length.
 */
void memory_note(struct memory *m, bool on);

/* Adds a place that may be corrupted: @at, which represents the process's @addr. Borrowed. */
void memory_note_words(struct memory *m, void *at, uint64_t addr, size_t len);

/*
 * Replaces a few of the recorded words until memory_restore(). Returns false if none were recorded.
 */
bool memory_lie(struct memory *m);
void memory_restore(struct memory *m);
