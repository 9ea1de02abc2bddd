/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the memory of processes by pages. Another process has to read it (proc/memory.h), which
 * takes longer than most steps of a walk: a stack has dozens of frames in each of its pages, and
 * the objects of a virtual machine that a walk visits are in a dozen others, the same for most
 * stacks. A page that was read serves all stacks that were sampled before, because reading it again
 * would show an even later state. So the more stacks wait in the queue, the fewer pages are read
 * per stack.
 */
#include <stddef.h>
#include <stdint.h>

enum {
	PROCESS_MEMORY_PAGE = 4096, /* a divisor of the page size of every processor */
	PROCESS_MEMORY_PAGES = 128,
};

struct process_memory {
	uint32_t pid;
	uint64_t since_ns;
	struct process_memory_page {
		uint32_t pid;
		uint64_t addr;
		uint64_t read_ns; /* 0: it has no bytes */
		uint8_t bytes[PROCESS_MEMORY_PAGE];
	} pages[PROCESS_MEMORY_PAGES]; /* by the number of the page in the process */
};

/*
 * Selects the memory of @pid; pages that were read at @since_ns or later are reused. The caller has
 * checked that the program of that time still runs.
 */
void process_memory_begin(struct process_memory *m, uint32_t pid, uint64_t since_ns);
/*
 * Selects the memory of @pid and reuses no page that was read before: the words that identify a
 * function and those that name it must be read at the same time.
 */
void process_memory_begin_now(struct process_memory *m, uint32_t pid);

/* Returns 0, or -1 if not all of the bytes can be read. */
int process_memory_read(struct process_memory *m, uint64_t addr, void *dst, size_t len);
