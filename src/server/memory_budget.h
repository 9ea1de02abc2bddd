/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The memory budget of the process. A request is admitted if the resident memory plus all
 * reservations leave room for what it may need; otherwise it is refused and may be retried. Any
 * thread. It is an estimate, not an accounting of allocations: its purpose is that a burst of
 * requests is answered with 429 before the kernel kills the process.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct memory_budget {
	size_t limit; /* bytes; 0 for no limit */
	atomic_size_t reserved;
};

/*
 * Reserves @bytes bytes until memory_budget_release(). Returns false if they exceed the budget. It
 * may call malloc_trim(), which visits the complete heap.
 */
bool memory_budget_reserve(struct memory_budget *m, size_t bytes);
void memory_budget_release(struct memory_budget *m, size_t bytes);

/*
 * Resident memory of the process in bytes. 0 if /proc cannot be read, which lets every request
 * pass.
 */
size_t memory_budget_resident(void);
