/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A growing array of any element type. A zeroed struct is an empty vector:
 *
 *	struct { VEC(uint32_t); } ids = { 0 };
 *	r = vec_push(&ids, 7);         (0 or -ENOMEM)
 *	ids.data[0], ids.len
 *	vec_fini(&ids);
 *
 * Elements move when the vector grows, so hold indices, not pointers. Macros evaluate @v more
 * than once.
 */
#include <stddef.h>

#define VEC(type)                                                                                  \
	type *data;                                                                                \
	size_t len;                                                                                \
	size_t cap

/* A larger array grows by a quarter, because its unused part counts as reserved memory. */
enum { VEC_LARGE = 4 << 20 /* bytes */ };

/*
 * The capacity to which an array of @cap elements grows for @n in total: it doubles, or a large one
 * grows by a quarter, until they fit. 0: no array can be that large.
 */
size_t vec_grown(size_t cap, size_t n, size_t elem_len);

/* Grows the array to at least @n elements in total. Returns 0 or -ENOMEM. */
int vec_grow(void **data, size_t *cap, size_t n, size_t elem_len);

#define vec_reserve(v, n)                                                                          \
	({                                                                                         \
		size_t vec_n_ = (n);                                                               \
		vec_n_ <= (v)->cap                                                                 \
			? 0                                                                        \
			: vec_grow((void **)&(v)->data, &(v)->cap, vec_n_, sizeof(*(v)->data));    \
	})

#define vec_push(v, ...)                                                                           \
	({                                                                                         \
		int vec_r_ = vec_reserve((v), (v)->len + 1);                                       \
		if (!vec_r_)                                                                       \
			(v)->data[(v)->len++] = (__VA_ARGS__);                                     \
		vec_r_;                                                                            \
	})

#define vec_reverse(v)                                                                             \
	do {                                                                                       \
		for (size_t vec_i_ = 0; vec_i_ < (v)->len / 2; vec_i_++) {                         \
			__typeof__(*(v)->data) vec_x_ = (v)->data[vec_i_];                         \
			(v)->data[vec_i_] = (v)->data[(v)->len - 1 - vec_i_];                      \
			(v)->data[(v)->len - 1 - vec_i_] = vec_x_;                                 \
		}                                                                                  \
	} while (0)

/* Frees the array; the vector is empty and usable again. */
void vec_release(void **data, size_t *len, size_t *cap);

#define vec_fini(v) vec_release((void **)&(v)->data, &(v)->len, &(v)->cap)
