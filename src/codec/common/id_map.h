/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Maps the 64-bit ids of a file to values. Most files use 1, 2, 3..., which is an array. Any
 * other ids are sorted and searched; unlike with a hash table, nobody can make that slow.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct id_map_entry {
	uint64_t id;
	uint32_t value;
};

/* Zero-initialize it and free it with vec_fini(). Not thread-safe while ids are added. */
struct id_map {
	VEC(struct id_map_entry);
	bool dense; /* entry i has id i + 1 */
};

/* Returns 0 or -ENOMEM. */
int id_map_add(struct id_map *m, uint64_t id, uint32_t value);

/*
 * Call after the last add and before the first find. Returns false if an id was added twice, which
 * is then in *@out_duplicate.
 */
bool id_map_build(struct id_map *m, uint64_t *out_duplicate);

/* Searches the ids of a map that is not dense. */
bool id_map_search(const struct id_map *m, uint64_t id, uint32_t *out_value);

/* Returns false if @id was not added. */
static inline bool id_map_find(const struct id_map *m, uint64_t id, uint32_t *out_value)
{
	if (!m->dense)
		return id_map_search(m, id, out_value);
	if (id - 1 >= m->len)
		return false;
	*out_value = m->data[id - 1].value;
	return true;
}
