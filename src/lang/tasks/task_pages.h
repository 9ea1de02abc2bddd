/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A copy of the memory of another process as far as it was read, for objects that refer to each
 * other all over the heap: each block is read once, whatever the number of objects in it. Contents
 * are as old as their first use, until task_pages_drop(). The limits are those of the memory
 * (task_memory.h), and TASK_PAGES_MAX blocks. One thread.
 *
 * CPython allocates objects of one size in pools of 16 KiB, so most blocks are used entirely.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/index.h"
#include "base/vec.h"
#include "lang/tasks/task_memory.h"

enum { TASK_PAGES_BYTES = 16 << 10, TASK_PAGES_MAX = 1024, TASK_PAGES_RECENT = 256 };

struct task_pages_block;

struct task_pages {
	struct task_memory *memory; /* borrowed */

	/* private */
	struct {
		VEC(struct task_pages_block *);
	} all; /* the first n_used are in use */
	size_t n_used;
	struct index index;
	const struct task_pages_block *recent[TASK_PAGES_RECENT]; /* by address; NULL: none */
};

void task_pages_fini(struct task_pages *p);

/* Return 0; -EFAULT if not all of it is mapped; -ETIME, see task_memory_read(); -ENOMEM. */
int task_pages_read(struct task_pages *p, uint64_t addr, void *dst, size_t len);
int task_pages_word(struct task_pages *p, uint64_t addr, uint64_t *out);

/* Forgets all blocks. */
void task_pages_drop(struct task_pages *p);
