/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/jit_places.h"

#include <stdlib.h>

static int by_address(const void *a, const void *b)
{
	const struct jit_place *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

int jit_places_add(struct jit_places *p, const uint64_t *addrs, size_t n)
{
	size_t kept = 0;
	int r = vec_reserve(p, p->len + n);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		p->data[p->len++] = (struct jit_place){ .addr = addrs[i] };
	if (p->len)
		qsort(p->data, p->len, sizeof(*p->data), by_address);
	for (size_t i = 0; i < p->len; i++)
		if (!kept || p->data[i].addr != p->data[kept - 1].addr)
			p->data[kept++] = p->data[i];
	p->len = kept;
	return 0;
}

void jit_places_reset(struct jit_places *p)
{
	for (size_t i = 0; i < p->len; i++)
		p->data[i] = (struct jit_place){ .addr = p->data[i].addr };
}

size_t jit_places_from(const struct jit_places *p, uint64_t addr)
{
	size_t lo = 0, hi = p->len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->data[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void jit_places_put(struct jit_places *p, uint64_t start, uint64_t size,
		    const struct jit_text *name)
{
	if (start + size < start)
		return;
	for (size_t i = jit_places_from(p, start); i < p->len && p->data[i].addr - start < size;
	     i++)
		p->data[i] = (struct jit_place){
			.addr = p->data[i].addr, .start = start, .size = size, .name = *name
		};
}
