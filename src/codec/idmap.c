/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/idmap.h"

#include <stdlib.h>

int idmap_add(struct idmap *m, uint64_t id, uint32_t value)
{
	if (!m->len)
		m->dense = true;
	m->dense = m->dense && id == m->len + 1;
	return vec_push(m, (struct idmap_entry){ id, value });
}

static int cmp_entry(const void *a, const void *b)
{
	const struct idmap_entry *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

bool idmap_build(struct idmap *m, uint64_t *out_twice)
{
	if (m->dense || !m->len)
		return true;
	qsort(m->data, m->len, sizeof(*m->data), cmp_entry);
	for (size_t i = 1; i < m->len; i++) {
		if (m->data[i - 1].id == m->data[i].id) {
			*out_twice = m->data[i].id;
			return false;
		}
	}
	return true;
}

bool idmap_find(const struct idmap *m, uint64_t id, uint32_t *out_value)
{
	const struct idmap_entry key = { .id = id }, *e;

	if (!m->len)
		return false;
	if (m->dense) {
		if (id - 1 >= m->len)
			return false;
		*out_value = m->data[id - 1].value;
		return true;
	}
	e = bsearch(&key, m->data, m->len, sizeof(*m->data), cmp_entry);
	if (e)
		*out_value = e->value;
	return e;
}
