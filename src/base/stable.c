/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void stable_init(struct stable *a, size_t elem_len)
{
	*a = (struct stable){ .elem_len = elem_len };
}

void stable_fini(struct stable *a)
{
	for (size_t i = 0; i < STABLE_SEGMENTS; i++)
		free(a->segments[i]);
	stable_init(a, a->elem_len);
}

/* Segments double, beginning with one of 2^STABLE_FIRST_BITS elements. */
static size_t cap_of(unsigned int n_segments)
{
	return ((size_t)1 << (n_segments + STABLE_FIRST_BITS)) - ((size_t)1 << STABLE_FIRST_BITS);
}

int stable_reserve(struct stable *a, size_t n)
{
	unsigned int i = 0;

	if (n <= a->cap)
		return 0;
	if (n > cap_of(STABLE_SEGMENTS) || n > UINT32_MAX)
		return -ENOMEM;
	while (a->segments[i])
		i++;
	for (; a->cap < n; i++) {
		size_t len;

		if (__builtin_mul_overflow((size_t)1 << (i + STABLE_FIRST_BITS), a->elem_len, &len))
			return -ENOMEM;
		a->segments[i] = malloc(len);
		if (!a->segments[i])
			return -ENOMEM;
		a->cap = cap_of(i + 1);
	}
	return 0;
}

int stable_push(struct stable *a, const void *elem)
{
	uint32_t n = atomic_load_explicit(&a->len, memory_order_relaxed);
	int r = stable_reserve(a, (size_t)n + 1);

	if (r < 0)
		return r;
	memcpy(stable_at(a, n), elem, a->elem_len);
	atomic_store_explicit(&a->len, n + 1, memory_order_release);
	return 0;
}
