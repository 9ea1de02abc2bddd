/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/calls_walk.h"

#include <errno.h>

#include "cli/text.h"
#include "tables/calls.h"

int calls_walk_enter(struct calls_walk *w, uint32_t node)
{
	uint32_t first = calls_node(w->c, node)->first_child;

	if (vec_push(&w->next, first) < 0 ||
	    vec_push(&w->left, w->limit ? w->limit : UINT64_MAX) < 0)
		return -ENOMEM;
	return 0;
}

void calls_walk_fini(struct calls_walk *w)
{
	vec_fini(&w->next);
	vec_fini(&w->left);
}

bool calls_walk_next(struct calls_walk *w, uint32_t *out, size_t *out_depth, size_t *out_n_closed)
{
	*out_n_closed = 0;
	while (w->next.len) {
		size_t top = w->next.len - 1;
		uint32_t id = w->next.data[top];
		const struct calls_node *n;

		if (id == CALLS_NONE || !w->left.data[top]) {
			w->next.len--;
			w->left.len--;
			*out_n_closed += w->next.len > 0;
			continue;
		}
		n = calls_node(w->c, id);
		w->next.data[top] = n->next;
		if (!text_is_above(n->total, calls_sum(w->c), w->min_percent))
			continue;
		w->left.data[top]--;
		*out = id;
		*out_depth = top;
		return true;
	}
	return false;
}
