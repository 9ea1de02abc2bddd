/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map is an array in both forms. As long as ids arrive as 1, 2, 3… an entry's position is its
 * id minus one, and nothing is sorted or searched; most writers of pprof number their entries like
 * that.
 */
#include "codec/common/id_map.h"

#include <stdlib.h>

int id_map_add(struct id_map *m, uint64_t id, uint32_t value)
{
	if (!m->len)
		m->dense = true;
	m->dense = m->dense && id == m->len + 1;
	return vec_push(m, (struct id_map_entry){ id, value });
}

static int cmp_entry(const void *a, const void *b)
{
	const struct id_map_entry *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

bool id_map_build(struct id_map *m, uint64_t *out_duplicate)
{
	if (m->dense || !m->len)
		return true;
	qsort(m->data, m->len, sizeof(*m->data), cmp_entry);
	for (size_t i = 1; i < m->len; i++) {
		if (m->data[i - 1].id == m->data[i].id) {
			*out_duplicate = m->data[i].id;
			return false;
		}
	}
	return true;
}

bool id_map_search(const struct id_map *m, uint64_t id, uint32_t *out_value)
{
	const struct id_map_entry key = { .id = id }, *e;

	if (!m->len)
		return false;
	e = bsearch(&key, m->data, m->len, sizeof(*m->data), cmp_entry);
	if (e)
		*out_value = e->value;
	return e;
}
