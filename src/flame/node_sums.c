/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arrays are allocated with calloc(), which gets large ones from the kernel: pages without a
 * value are never touched.
 */
#include "flame/node_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void node_sums_fini(struct node_sums *s)
{
	free(s->values);
	free(s->used);
	*s = (struct node_sums){ 0 };
}

/* Copies the groups that have a value. */
static void copy_used(struct node_sums *to, const struct node_sums *from)
{
	const size_t group = (size_t)1 << NODE_SUMS_GROUP_BITS;

	for (size_t g = 0; g < node_sums_n_groups(from->n); g++) {
		size_t first = g * group, n = from->n - first < group ? from->n - first : group;

		if (!from->used[g])
			continue;
		memcpy(to->values + first, from->values + first, n * sizeof(*to->values));
		to->used[g] = 1;
	}
}

int node_sums_reserve(struct node_sums *s, size_t n)
{
	struct node_sums more = { .n = n };

	if (n <= s->n)
		return 0;
	more.values = calloc(n, sizeof(*more.values));
	more.used = calloc(node_sums_n_groups(n), 1);
	if (!more.values || !more.used) {
		node_sums_fini(&more);
		return -ENOMEM;
	}
	copy_used(&more, s);
	node_sums_fini(s);
	*s = more;
	return 0;
}
