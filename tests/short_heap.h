/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Lets each allocation of a function fail in turn:
 *
 *	for (size_t n = 0; short_heap_run(n, fn, ctx) < 0; n++)
 *		;
 */
#include "base/heap_claim.h"

static inline bool short_heap_reserve(void *ctx, size_t bytes)
{
	size_t *left = ctx;

	if (!*left)
		return false;
	(*left)--;
	return true;
}

static inline void short_heap_release(void *ctx, size_t bytes)
{
}

/* Runs @fn with room for @n allocations that exceed what was freed before. Returns its result. */
static inline int short_heap_run(size_t n, int (*fn)(void *ctx), void *ctx)
{
	struct heap_claim c = {
		.reserve = short_heap_reserve, .release = short_heap_release, .ctx = &n, .step = 1
	};
	int r;

	heap_claim_begin(&c);
	r = fn(ctx);
	heap_claim_end(&c);
	return r;
}
