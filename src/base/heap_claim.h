/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Accounts for what one thread allocates, whichever code does it, and refuses allocations for which
 * there is no room. The linker directs malloc() and its relatives in all of Cameo's code to
 * heap_claim.c (src/base/meson.build), so nothing that grows can be forgotten. Libraries
 * allocate by themselves without being counted.
 *
 *	struct heap_claim c = { .reserve = fn, .release = fn, .ctx = ctx, .step = 4 << 20 };
 *	heap_claim_begin(&c);
 *	r = work();              (an allocation without room returns NULL: -ENOMEM)
 *	heap_claim_end(&c);      (releases what is reserved; what is still allocated is resident)
 *
 * Allocated memory becomes resident when it is written to. Small blocks are written to at once,
 * so only one step of them is reserved. A large block may be written to late: it is reserved until
 * it is freed, or, when room is short, as far as its pages are not in memory yet.
 */
#include <stdbool.h>
#include <stddef.h>

enum {
	HEAP_CLAIM_LARGE = 1 << 20,
	HEAP_CLAIM_MAPPED =
		8 << 20, /* blocks that the allocator maps by themselves (M_MMAP_THRESHOLD) */
	HEAP_CLAIM_MAX_LARGE = 64,
};

struct heap_claim {
	/*
	 * Reserves @bytes in addition to what is reserved and resident; false if there is no room.
	 * Both are called in the middle of an allocation: they must not take locks that the thread
	 * may hold.
	 */
	bool (*reserve)(void *ctx, size_t bytes);
	void (*release)(void *ctx, size_t bytes);
	void *ctx;
	size_t step;    /* bytes that are reserved for small blocks at a time */
	size_t covered; /* bytes for which there is room without a reservation, to begin with */
	bool failed;    /* an allocation was refused */
	/* private */
	ptrdiff_t small; /* bytes of small blocks allocated less those freed */
	bool has_step;
	struct {
		void *at;
		size_t reserved;
	} large[HEAP_CLAIM_MAX_LARGE];
	size_t n_large;
	size_t untracked; /* bytes of further large blocks, reserved until the end */
};

/* The calling thread's allocations count from here until heap_claim_end(). They do not nest. */
void heap_claim_begin(struct heap_claim *c);
void heap_claim_end(struct heap_claim *c);
