/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sorted array. Adding is a binary search and a memmove, which is cheapest
 * for the few dozen mappings that processes have; whoever adds thousands at
 * once reads them in order (procs.c), so that each goes to the end.
 */
#include "agent/mapset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "unwind/tables.h"

struct mapset {
	uint32_t refs;
	bool dirty;
	struct {
		VEC(struct unwind_mapping);
	} maps;                          /* sorted by start, disjoint */
	struct unwind_process published; /* n_mappings 0: not published */
};

struct mapset *mapset_new(void)
{
	struct mapset *m = calloc(1, sizeof(*m));

	if (m)
		m->refs = 1;
	return m;
}

struct mapset *mapset_ref(struct mapset *m)
{
	m->refs++;
	return m;
}

void mapset_unref(struct mapset *m, struct unwind_tables *tables, uint64_t now_ns)
{
	if (!m || --m->refs)
		return;
	if (m->published.n_mappings)
		unwind_tables_retire_mappings(tables, &m->published, now_ns);
	vec_fini(&m->maps);
	free(m);
}

struct mapset *mapset_own(struct mapset *m, struct unwind_tables *tables, uint64_t now_ns)
{
	struct mapset *copy;

	if (m->refs == 1)
		return m;
	copy = mapset_new();
	if (!copy || vec_reserve(&copy->maps, m->maps.len) < 0) {
		mapset_unref(copy, tables, now_ns);
		return NULL;
	}
	if (m->maps.len)
		memcpy(copy->maps.data, m->maps.data, m->maps.len * sizeof(*m->maps.data));
	copy->maps.len = m->maps.len;
	copy->dirty = true;
	mapset_unref(m, tables, now_ns);
	return copy;
}

void mapset_clear(struct mapset *m)
{
	m->maps.len = 0;
	m->dirty = true;
}

uint32_t mapset_count(const struct mapset *m)
{
	return (uint32_t)m->maps.len;
}

const struct unwind_mapping *mapset_get(const struct mapset *m, uint32_t i)
{
	return &m->maps.data[i];
}

/* Index of the first mapping that ends above @addr. */
static size_t first_above(const struct mapset *m, uint64_t addr)
{
	size_t lo = 0, hi = m->maps.len;

	if (hi && m->maps.data[hi - 1].end <= addr)
		return hi;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->maps.data[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Replace @n_old mappings at @at by @n_new. There is room. */
static void splice(struct mapset *m, size_t at, size_t n_old, const struct unwind_mapping *fresh,
		   size_t n_new)
{
	struct unwind_mapping *x = m->maps.data;

	memmove(x + at + n_new, x + at + n_old, (m->maps.len - at - n_old) * sizeof(*x));
	memcpy(x + at, fresh, n_new * sizeof(*x));
	m->maps.len += n_new - n_old;
}

static bool joins(const struct unwind_mapping *a, const struct unwind_mapping *b)
{
	if (a->end != b->start || a->kind != b->kind || a->file != b->file)
		return false;
	return a->kind == MAPPING_ANONYMOUS || a->file_off + (a->end - a->start) == b->file_off;
}

static int add_over(struct mapset *m, const struct unwind_mapping *map)
{
	struct unwind_mapping piece[3];
	size_t at = first_above(m, map->start), end = at, n = 0;
	const struct unwind_mapping *x;

	if (map->end <= map->start)
		return 0;
	if (vec_reserve(&m->maps, m->maps.len + 2) < 0)
		return -ENOMEM;
	x = m->maps.data;
	while (end < m->maps.len && x[end].start < map->end)
		end++;
	/* what is left of the mappings that it covers in part */
	if (end > at && x[at].start < map->start) {
		piece[n] = x[at];
		piece[n++].end = map->start;
	}
	piece[n++] = *map;
	if (end > at && x[end - 1].end > map->end) {
		piece[n] = x[end - 1];
		if (piece[n].kind == MAPPING_FILE)
			piece[n].file_off += map->end - piece[n].start;
		piece[n++].start = map->end;
	}
	if (n == 1 && at == end && at > 0 && joins(&x[at - 1], map)) {
		m->maps.data[at - 1].end = map->end;
	} else {
		splice(m, at, end - at, piece, n);
	}
	m->dirty = true;
	return 0;
}

int mapset_add(struct mapset *m, const struct unwind_mapping *map)
{
	struct unwind_mapping rest = *map;
	int r = 0;

	if (map->kind != MAPPING_ANONYMOUS)
		return add_over(m, map);
	/* what a virtual machine has told of its memory stays, however that grows */
	while (r == 0 && rest.start < map->end) {
		size_t at = first_above(m, rest.start);
		const struct unwind_mapping *x;

		while (at < m->maps.len && m->maps.data[at].kind <= MAPPING_ANONYMOUS)
			at++;
		x = at < m->maps.len ? &m->maps.data[at] : NULL;
		rest.end = x && x->start < map->end ? x->start : map->end;
		if (rest.end > rest.start)
			r = add_over(m, &rest);
		if (!x || rest.end == map->end)
			break;
		/* adding may have moved it */
		rest.start = m->maps.data[first_above(m, rest.end)].end;
	}
	return r;
}

int mapset_publish(struct mapset *m, struct unwind_tables *tables, uint64_t now_ns,
		   struct unwind_process *out)
{
	struct unwind_process fresh = { 0 };
	int r = 0;

	if (m->dirty) {
		if (m->maps.len)
			r = unwind_tables_add_mappings(tables, m->maps.data, (uint32_t)m->maps.len,
						       &fresh);
		if (r < 0)
			return r;
		if (m->published.n_mappings)
			unwind_tables_retire_mappings(tables, &m->published, now_ns);
		m->published = fresh;
		m->dirty = false;
	}
	*out = m->published;
	return 0;
}
