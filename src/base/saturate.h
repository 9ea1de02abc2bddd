/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Arithmetic on values from untrusted profiles, which must not overflow. */
#include <stdint.h>

/* The sum of both, or the limit of int64_t that it exceeds. */
static inline int64_t saturating_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

/* The product of both, or the limit of int64_t that it exceeds. */
static inline int64_t saturating_mul(int64_t a, int64_t b)
{
	int64_t product;

	if (__builtin_mul_overflow(a, b, &product))
		return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
	return product;
}
