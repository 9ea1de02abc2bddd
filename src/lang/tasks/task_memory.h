/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads many small objects of another process. Tasks and their stacks lie next to each other, so
 * one call reads a block of memory, and objects that are read in the order of their addresses cost
 * a copy each. Contents are as old as the block: task_memory_drop() before reading again.
 *
 * The number of calls and the time are limited, because a hostile process can have structures of
 * any length. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TASK_BLOCK_BYTES = 32 << 10, TASK_PAGE_BYTES = 4096, TASK_READS_MAX = 4000000 };

struct task_memory {
	/* Reads exactly @len bytes: 0, or negative. */
	int (*read)(void *ctx, uint64_t addr, void *dst, size_t len);
	void *ctx;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none */
	bool only_pages;      /* blocks are pages: objects are scattered */

	/* private */
	bool is_late;
	uint32_t n_reads;
	uint64_t start;
	uint32_t len; /* of the block at @start; 0: there is none */
	_Alignas(8) uint8_t block[TASK_BLOCK_BYTES];
};

/* Return 0; -EFAULT if not all of it is mapped; -ETIME after the deadline or too many reads. */
int task_memory_read(struct task_memory *m, uint64_t addr, void *dst, size_t len);
int task_memory_word(struct task_memory *m, uint64_t addr, uint64_t *out);

/* Does the same without the block, for callers that have blocks of their own. */
int task_memory_copy(struct task_memory *m, uint64_t addr, void *dst, size_t len);

/* A range of addresses that will be read, and the caller's own number for it. */
struct task_extent {
	uint64_t start, end; /* equal: nothing will be read */
	uint32_t tag;
};

/*
 * Loads the first of the @n extents, which are sorted by their start, unless it is loaded; with it,
 * those that follow without a page between them that no extent needs. Errors are ignored: a later
 * read tries again.
 */
void task_memory_prefetch(struct task_memory *m, const struct task_extent *all, size_t n);

/* Forgets the block. */
void task_memory_drop(struct task_memory *m);

/* True once a read has failed with -ETIME, as all do from then on. */
bool task_memory_is_late(const struct task_memory *m);
