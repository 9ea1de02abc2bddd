/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

size_t vec_grown(size_t cap, size_t n, size_t elem_len)
{
	if (n <= cap)
		return cap;
	cap = cap ? cap : 8;
	while (cap < n && cap <= PTRDIFF_MAX / elem_len)
		cap += cap < VEC_LARGE / elem_len ? cap : cap / 4;
	return cap <= PTRDIFF_MAX / elem_len ? cap : 0;
}

int vec_grow(void **data, size_t *cap, size_t n, size_t elem_len)
{
	size_t new_cap = vec_grown(*cap, n, elem_len);
	void *p;

	if (n <= *cap)
		return 0;
	if (!new_cap)
		return -ENOMEM;
	p = realloc(*data, new_cap * elem_len);
	if (!p)
		return -ENOMEM;
	*data = p;
	*cap = new_cap;
	return 0;
}

void vec_release(void **data, size_t *len, size_t *cap)
{
	free(*data);
	*data = NULL;
	*len = 0;
	*cap = 0;
}
