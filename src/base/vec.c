/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

int vec_grow(void **data, size_t *cap, size_t n, size_t elem_len)
{
	size_t want = *cap ? *cap : 8;
	void *p;

	if (n <= *cap)
		return 0;
	while (want < n) {
		if (want > SIZE_MAX / 2)
			return -ENOMEM;
		want *= 2;
	}
	if (want > SIZE_MAX / elem_len)
		return -ENOMEM;
	p = realloc(*data, want * elem_len);
	if (!p)
		return -ENOMEM;
	*data = p;
	*cap = want;
	return 0;
}

void vec_release(void **data, size_t *len, size_t *cap)
{
	free(*data);
	*data = NULL;
	*len = 0;
	*cap = 0;
}
