/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/*
 * bisect() - find the partition point of an array by binary search
 *
 * @condition is an expression of @i, the index of an element. It holds for the first elements and
 * for none after those; with `data[i].start <= at`, the result minus 1 is the last element that
 * starts at or before `at`.
 *
 * Result: how many of the @n elements satisfy the condition.
 */
#define bisect(n, i, condition)                                                                    \
	({                                                                                         \
		size_t lo_ = 0, hi_ = (n);                                                         \
		while (lo_ < hi_) {                                                                \
			size_t i = lo_ + (hi_ - lo_) / 2;                                          \
			if (condition)                                                             \
				lo_ = i + 1;                                                       \
			else                                                                       \
				hi_ = i;                                                           \
		}                                                                                  \
		lo_;                                                                               \
	})
