/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table is built by a sweep over the intervals, sorted by start with outer
 * before inner ones. A stack holds the open intervals. Between two starts or
 * ends, the top of the stack is the innermost interval.
 */
#include "dwarf/intervals.h"

#include <stdlib.h>

#include "base/bisect.h"

struct sweep {
	struct interval_table *table;
	struct interval_list open; /* stack of open intervals, innermost last */
	uint64_t pos;
};

/*
 * The longest of the intervals that start together is first, so that enclosing ones precede those
 * inside them.
 */
static int by_start(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	if (x->hi != y->hi)
		return x->hi > y->hi ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Records that @id is the innermost interval from @s->pos on. */
static int emit(struct sweep *s, uint32_t id)
{
	struct interval_table *t = s->table;
	struct interval_segment seg = { .id = id };

	if (s->pos - t->base > UINT32_MAX)
		return 0;
	seg.start = (uint32_t)(s->pos - t->base);
	if (t->segments.len && t->segments.data[t->segments.len - 1].start == seg.start) {
		t->segments.data[t->segments.len - 1] = seg;
		return 0;
	}
	if (t->segments.len && t->segments.data[t->segments.len - 1].id == id)
		return 0;
	return vec_push(&t->segments, seg);
}

/* Closes the intervals that end at or before @addr. */
static int close_until(struct sweep *s, uint64_t addr)
{
	while (s->open.len && s->open.data[s->open.len - 1].hi <= addr) {
		uint64_t hi = s->open.data[--s->open.len].hi;
		int r;

		if (hi < s->pos)
			continue; /* closed already: an overlapping interval ended later */
		s->pos = hi;
		/* If intervals overlap without nesting, those below may have ended earlier. */
		while (s->open.len && s->open.data[s->open.len - 1].hi <= hi)
			s->open.len--;
		r = emit(s, s->open.len ? s->open.data[s->open.len - 1].id : INTERVAL_NONE);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Intervals nest like functions and the calls inlined into them, so a stack holds those that are
 * open.
 */
static int sweep(struct sweep *s, const struct interval_list *list)
{
	int r;

	for (size_t i = 0; i < list->len; i++) {
		const struct interval *iv = &list->data[i];

		if (iv->lo >= iv->hi)
			continue;
		r = close_until(s, iv->lo);
		if (r < 0)
			return r;
		s->pos = iv->lo;
		r = vec_push(&s->open, *iv);
		if (r < 0)
			return r;
		r = emit(s, iv->id);
		if (r < 0)
			return r;
	}
	return close_until(s, UINT64_MAX);
}

int interval_table_build(struct interval_table *out, struct interval_list *list)
{
	struct interval_table t = { 0 };
	struct sweep s = { .table = &t };
	int r;

	if (list->len) {
		qsort(list->data, list->len, sizeof(*list->data), by_start);
		t.base = list->data[0].lo;
	}
	r = sweep(&s, list);
	vec_fini(&s.open);
	if (r < 0) {
		interval_table_fini(&t);
		return r;
	}
	*out = t;
	return 0;
}

void interval_table_fini(struct interval_table *t)
{
	vec_fini(&t->segments);
}

/* A table spans at most 4 GiB from its base, so that a segment needs only 8 bytes. */
uint32_t interval_table_find(const struct interval_table *t, uint64_t addr)
{
	size_t n;

	if (addr < t->base || addr - t->base > UINT32_MAX)
		return INTERVAL_NONE;
	n = bisect(t->segments.len, i, t->segments.data[i].start <= addr - t->base);
	return n ? t->segments.data[n - 1].id : INTERVAL_NONE;
}
