/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key of a group has for each label a byte HAS or LACKS and the value with its NUL.
 *
 * A missing label differs from an empty one in the result, not in matching, so the key stores which
 * it is. Group numbers are string ids minus one, because id 0 is the empty string.
 */
#include "query/groups.h"

#include <errno.h>
#include <string.h>

#include "base/strtab.h"
#include "store/store.h"

enum { HAS = 1, LACKS, START };

int groups_init(struct groups *g, const char *const *by, size_t n_by)
{
	*g = (struct groups){ .by = by, .n_by = n_by };
	return strtab_new(&g->keys);
}

void groups_fini(struct groups *g)
{
	strtab_free(g->keys);
	buf_fini(&g->key);
}

const char *groups_label(const struct store_label *labels, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(labels[i].name, name))
			return labels[i].value;
	return NULL;
}

int groups_find(struct groups *g, const struct store_label *labels, size_t n, uint32_t *out_id)
{
	int r;

	g->key.len = 0;
	buf_put_byte(
		&g->key,
		START); /* distinguishes the key of no labels from "", which has an id already */
	for (size_t i = 0; i < g->n_by; i++) {
		const char *v = groups_label(labels, n, g->by[i]);

		buf_put_byte(&g->key, v ? HAS : LACKS);
		buf_put(&g->key, v ? v : "", v ? strlen(v) + 1 : 1);
	}
	if (buf_error(&g->key))
		return -ENOMEM;
	r = strtab_add(g->keys, (const char *)g->key.data, g->key.len, out_id);
	if (r == 0)
		(*out_id)--;
	return r;
}

const char *groups_value(const struct groups *g, uint32_t id, size_t i)
{
	const char *at = strtab_get(g->keys, id + 1) + 1;

	for (; i > 0; i--)
		at += strlen(at + 1) + 2;
	return *at == HAS ? at + 1 : NULL;
}
