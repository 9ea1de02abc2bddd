/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Arithmetic on values from untrusted profiles, which must not overflow. The limits of int64_t are
 * infinite: whatever is added to one of them is that limit, so a sum that did not fit once can be
 * recognized (is_saturated()) however many values of whatever sign are added afterwards.
 */
#include <stdbool.h>
#include <stdint.h>

/*
 * Returns true if @v is one of the limits: the unsigned difference is 0 for the upper limit and 1
 * for the lower one.
 */
static inline bool is_saturated(int64_t v)
{
	return (uint64_t)v - (uint64_t)INT64_MAX <= 1;
}

/* The sum of both, or a limit of int64_t. The limit of @a counts if both are limits. */
static inline int64_t saturating_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (is_saturated(a))
		return a;
	if (is_saturated(b))
		return b;
	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

/* Does the same as saturating_add(), without the sign of @b. */
static inline int64_t saturating_add_magnitude(int64_t a, int64_t b)
{
	return saturating_add(a, b == INT64_MIN ? INT64_MAX : b < 0 ? -b : b);
}

/* The product of both, or the limit of int64_t that it exceeds. */
static inline int64_t saturating_mul(int64_t a, int64_t b)
{
	int64_t product;

	if (__builtin_mul_overflow(a, b, &product))
		return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
	return product;
}
