/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the stack of one process by pages: a stack has dozens of frames in each, and another
 * process has to read it (proc/memory.h). The bytes are valid for one stack.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROCESS_MEMORY_PAGE = 4096 }; /* a divisor of the page size of every processor */

struct process_memory {
	uint32_t pid;
	bool is_read;
	uint64_t addr; /* of the page that was read last */
	uint8_t bytes[PROCESS_MEMORY_PAGE];
};

/* Begins with the stack of a process. */
void process_memory_begin(struct process_memory *m, uint32_t pid);

/* Returns 0, or -1 if not all of the bytes can be read. */
int process_memory_read(struct process_memory *m, uint64_t addr, void *dst, size_t len);
