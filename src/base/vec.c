/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

int vec_grow(void **data, size_t *cap, size_t n, size_t elem_len)
{
	size_t new_cap = *cap ? *cap : 8;
	void *p;

	if (n <= *cap)
		return 0;
	while (new_cap < n) {
		if (new_cap > SIZE_MAX / 2)
			return -ENOMEM;
		new_cap += new_cap < VEC_LARGE / elem_len ? new_cap : new_cap / 4;
	}
	if (new_cap > PTRDIFF_MAX / elem_len)
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
