/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How much memory the process may have, for whatever it has it. A request is
 * let in if what is there and what was promised to others leaves room for what it
 * may take; it is refused otherwise, and may be repeated.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct memory {
	size_t limit; /* 0: none */
	atomic_size_t promised;
};

/* Is there room for @want? It is promised then, until memory_give(). */
bool memory_take(struct memory *m, size_t want);
void memory_give(struct memory *m, size_t want);

/* What the process has now. */
size_t memory_used(void);
