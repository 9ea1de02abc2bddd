/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A stopped process's memory, copied a page at a time as it is read; which of its words were
 * read; and lies: words that are others for a while.
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

/* @ctx is the memory. 0 or -EFAULT: for struct lang_process and struct unwind_walk_input. */
int memory_read(void *ctx, uint64_t addr, void *dst, size_t len);

/* Are reads noted, as places for lies? Each one counts alike, however long it is. */
void memory_note(struct memory *m, bool on);

/* One more place for lies: @at, which stands for the process's @addr. Borrowed. */
void memory_note_words(struct memory *m, void *at, uint64_t addr, size_t len);

/* Replace a few words of what was noted, until memory_restore(). False: nothing was. */
bool memory_lie(struct memory *m);
void memory_restore(struct memory *m);
