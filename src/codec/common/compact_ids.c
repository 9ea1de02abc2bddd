/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/common/compact_ids.h"

#include <errno.h>
#include <stdlib.h>

int compact_ids_init(struct compact_ids *c, uint32_t count)
{
	*c = (struct compact_ids){ 0 };
	c->numbers = calloc((size_t)count + 1, sizeof(*c->numbers));
	return c->numbers ? 0 : -ENOMEM;
}

void compact_ids_fini(struct compact_ids *c)
{
	free(c->numbers);
	vec_fini(&c->ids);
}

void compact_ids_reset(struct compact_ids *c)
{
	while (c->ids.len)
		c->numbers[c->ids.data[--c->ids.len]] = 0;
}

uint32_t compact_ids_get(struct compact_ids *c, uint32_t id)
{
	if (!c->numbers[id]) {
		if (vec_push(&c->ids, id) < 0)
			c->error = -ENOMEM;
		c->numbers[id] = (uint32_t)c->ids.len;
	}
	return c->numbers[id];
}
