/* SPDX-License-Identifier: Apache-2.0 */
/* The heads and the rows of a pack, which a byte with the length of the heads separates. */
#include "store/pack.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Every row must lie in a window, and every window in the rows. */
static void check(const struct pack *p)
{
	size_t end = 0;

	for (size_t i = 0; i < p->windows.len; i++) {
		if (p->windows.data[i].end < end || p->windows.data[i].end > p->nodes.len)
			abort();
		for (; end < p->windows.data[i].end; end++)
			if (end > pack_begin(p, i) && p->nodes.data[end] < p->nodes.data[end - 1])
				abort();
	}
	if (end != p->nodes.len || p->values.len != p->nodes.len)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct pack_reader rd = { 0 };
	struct pack p = { 0 };
	size_t heads = len ? data[0] : 0;

	if (heads < len && pack_read_heads(&rd, &p, data + 1, heads) == 0)
		for (size_t k = 0; k <= p.n_types; k++)
			if (pack_read_rows(&rd, &p, data + 1 + heads, len - 1 - heads, k) == 0)
				check(&p);
	pack_fini(&p);
	pack_reader_fini(&rd);
	return 0;
}
