/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/renumber.h"

#include <errno.h>
#include <stdlib.h>

int renumber_init(struct renumber *n, uint32_t count)
{
	*n = (struct renumber){ 0 };
	n->to = calloc((size_t)count + 1, sizeof(*n->to));
	return n->to ? 0 : -ENOMEM;
}

void renumber_fini(struct renumber *n)
{
	free(n->to);
	vec_fini(&n->met);
}

uint32_t renumber_get(struct renumber *n, uint32_t id)
{
	if (!n->to[id]) {
		if (vec_push(&n->met, id) < 0)
			n->error = -ENOMEM;
		n->to[id] = (uint32_t)n->met.len;
	}
	return n->to[id];
}
