/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A growing array whose elements never move, so that one thread appends while others read without
 * a lock: a reader with a low priority that the scheduler interrupts delays nobody. Readers may use
 * the elements below a stable_len() that they have read, and everything that the appending thread
 * wrote before it pushed these.
 *
 * Elements lie in segments, each twice as large as the one before; a position is translated with
 * one bit scan. Prefer VEC (vec.h) if there is a single thread.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { STABLE_FIRST_BITS = 6, STABLE_SEGMENTS = 26 };

struct stable {
	size_t elem_len; /* bytes */
	uint8_t *segments[STABLE_SEGMENTS];
	size_t cap; /* elements; for the appending thread */
	atomic_uint len;
};

/* @elem_len may be anything but 0. An empty array has no memory. */
void stable_init(struct stable *a, size_t elem_len);

/* Frees all elements. The array is empty and usable again. Nobody may read it. */
void stable_fini(struct stable *a);

/* The number of elements. Any thread. */
static inline uint32_t stable_len(const struct stable *a)
{
	return atomic_load_explicit(&a->len, memory_order_acquire);
}

/* The element with this position, which must exist. Any thread. */
static inline void *stable_at(const struct stable *a, uint32_t i)
{
	uint64_t place = (uint64_t)i + (1u << STABLE_FIRST_BITS);
	unsigned int bits = 63u - (unsigned int)__builtin_clzll(place);

	return a->segments[bits - STABLE_FIRST_BITS] + (place - (1ull << bits)) * a->elem_len;
}

/* Allocates memory for @n elements in total. Returns 0 or -ENOMEM. For the appending thread. */
int stable_reserve(struct stable *a, size_t n);

/* Appends a copy of @elem. Returns 0 or -ENOMEM; 0 if there is memory for it (stable_reserve()). */
int stable_push(struct stable *a, const void *elem);

/* Memory in bytes, for budgets. For the appending thread. */
static inline size_t stable_bytes(const struct stable *a)
{
	return a->cap * a->elem_len;
}
