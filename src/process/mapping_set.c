/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sorted array of disjoint ranges. Adding one is a binary search and a memmove, which is
 * cheapest for the few dozen mappings of a usual process. A reread of /proc adds thousands in
 * order of address, so each goes to the end.
 *
 * Publication: the BPF program reads a copy in the arena of the unwind tables. A copy is
 * never changed: a BPF program may be searching it on another CPU at this moment.
 * mapping_set_publish() writes a new copy, the caller points the process's map entry to it,
 * and the old copy is retired: its memory is reused only after a grace period (see
 * unwind_tables_retire_mappings()). Sets of forked children share one copy. If the arena is
 * full, the old copy stays in use; addresses that are in none of its mappings then come up as
 * raw samples.
 */
#include "process/mapping_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "unwind/tables.h"

struct mapping_set {
	struct mapping_budget *budget; /* may be NULL */
	uint32_t refs;
	bool dirty;
	struct {
		VEC(struct unwind_mapping);
	} maps;                          /* sorted by start, disjoint */
	struct unwind_process published; /* n_mappings 0: not published */
};

struct mapping_set *mapping_set_new(struct mapping_budget *budget)
{
	struct mapping_set *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->budget = budget;
	m->refs = 1;
	return m;
}

/* ---- memory ------------------------------------------------------------------------------- */

static size_t bytes_of(const struct mapping_set *m)
{
	return m->maps.cap * sizeof(*m->maps.data);
}

static bool may_hold(const struct mapping_set *m, size_t n)
{
	const struct mapping_budget *b = m->budget;
	size_t cap = vec_grown(m->maps.cap, n, sizeof(*m->maps.data)), others;

	if (!b || !b->max_bytes || n <= MAPPING_SET_SMALL)
		return true;
	others = b->used_bytes - bytes_of(m);
	return cap && others < b->max_bytes &&
	       cap * sizeof(*m->maps.data) <= (b->max_bytes - others) / 2;
}

/* Makes room for @n mappings. Returns 0, -ENOSPC or -ENOMEM. */
static int reserve(struct mapping_set *m, size_t n)
{
	size_t before = bytes_of(m);
	int r;

	if (n <= m->maps.cap)
		return 0;
	r = may_hold(m, n) ? vec_reserve(&m->maps, n) : -ENOSPC;
	if (m->budget && r == 0)
		m->budget->used_bytes += bytes_of(m) - before;
	if (m->budget && r < 0)
		m->budget->n_refused++;
	return r;
}

static void release(struct mapping_set *m)
{
	if (m->budget)
		m->budget->used_bytes -= bytes_of(m);
	vec_fini(&m->maps);
	free(m);
}

struct mapping_set *mapping_set_ref(struct mapping_set *m)
{
	m->refs++;
	return m;
}

void mapping_set_unref(struct mapping_set *m, struct unwind_tables *tables, uint64_t now_ns)
{
	if (!m || --m->refs)
		return;
	if (m->published.n_mappings)
		unwind_tables_retire_mappings(tables, &m->published, now_ns);
	release(m);
}

struct mapping_set *mapping_set_own(struct mapping_set *m, struct unwind_tables *tables,
				    uint64_t now_ns)
{
	struct mapping_set *copy;

	if (m->refs == 1)
		return m;
	copy = mapping_set_new(m->budget);
	if (!copy || reserve(copy, m->maps.len) < 0) {
		mapping_set_unref(copy, tables, now_ns);
		return NULL;
	}
	if (m->maps.len)
		memcpy(copy->maps.data, m->maps.data, m->maps.len * sizeof(*m->maps.data));
	copy->maps.len = m->maps.len;
	copy->dirty = true;
	mapping_set_unref(m, tables, now_ns);
	return copy;
}

uint32_t mapping_set_count(const struct mapping_set *m)
{
	return (uint32_t)m->maps.len;
}

const struct unwind_mapping *mapping_set_get(const struct mapping_set *m, uint32_t i)
{
	return &m->maps.data[i];
}

/* Index of the first mapping that ends above @addr. */
static size_t first_above(const struct mapping_set *m, uint64_t addr)
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

/*
 * Replaces @n_old mappings at index @at by the @n_new of @fresh. The caller has reserved the
 * room.
 */
static void splice(struct mapping_set *m, size_t at, size_t n_old,
		   const struct unwind_mapping *fresh, size_t n_new)
{
	struct unwind_mapping *x = m->maps.data;

	memmove(x + at + n_new, x + at + n_old, (m->maps.len - at - n_old) * sizeof(*x));
	memcpy(x + at, fresh, n_new * sizeof(*x));
	m->maps.len += n_new - n_old;
}

static bool is_continued_by(const struct unwind_mapping *a, const struct unwind_mapping *b)
{
	if (a->end != b->start || a->kind != b->kind || a->file != b->file)
		return false;
	return a->kind == MAPPING_ANONYMOUS || a->file_off + (a->end - a->start) == b->file_off;
}

static int add_replacing(struct mapping_set *m, const struct unwind_mapping *map)
{
	struct unwind_mapping piece[3];
	size_t at = first_above(m, map->start), end = at, n = 0;
	const struct unwind_mapping *x;
	int r;

	if (map->end <= map->start)
		return 0;
	r = reserve(m, m->maps.len + 2);
	if (r < 0)
		return r;
	x = m->maps.data;
	while (end < m->maps.len && x[end].start < map->end)
		end++;
	/* keep the parts of the first and last overlapped mappings that are not overlapped */
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
	if (n == 1 && at == end && at > 0 && is_continued_by(&x[at - 1], map)) {
		m->maps.data[at - 1].end = map->end;
	} else {
		splice(m, at, end - at, piece, n);
	}
	m->dirty = true;
	return 0;
}

int mapping_set_add(struct mapping_set *m, const struct unwind_mapping *map)
{
	struct unwind_mapping gap = *map;
	int r = 0;

	if (map->kind != MAPPING_ANONYMOUS)
		return add_replacing(m, map);
	/*
	 * skip regions that a runtime reported (kinds above MAPPING_ANONYMOUS) and fill the
	 * gaps between them
	 */
	while (r == 0 && gap.start < map->end) {
		size_t at = first_above(m, gap.start);
		const struct unwind_mapping *x;

		while (at < m->maps.len && m->maps.data[at].kind <= MAPPING_ANONYMOUS)
			at++;
		x = at < m->maps.len ? &m->maps.data[at] : NULL;
		gap.end = x && x->start < map->end ? x->start : map->end;
		if (gap.end > gap.start)
			r = add_replacing(m, &gap);
		if (!x || gap.end == map->end)
			break;
		/* add_over() may have moved the array, so look it up again */
		gap.start = m->maps.data[first_above(m, gap.end)].end;
	}
	return r;
}

int mapping_set_publish(struct mapping_set *m, struct unwind_tables *tables, uint64_t now_ns,
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
