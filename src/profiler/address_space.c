/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/address_space.h"

#include <stdlib.h>
#include <string.h>

/* Flag of a toucher: the page was touched by a write. */
#define WRITTEN 0x80000000u

static void account(struct address_space *s)
{
	size_t bytes = sizeof(*s) + touch_map_bytes(&s->touches) +
		       s->present.cap * sizeof(*s->present.data) +
		       s->areas.cap * sizeof(*s->areas.data);

	*s->total += bytes - s->bytes;
	s->bytes = bytes;
}

struct address_space *address_space_new(struct address_space *base, size_t *total)
{
	struct address_space *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->n_refs = 1;
	s->total = total;
	account(s);
	if (base && base->depth < ADDRESS_SPACE_DEPTH_MAX) {
		base->n_refs++;
		s->base = base;
		s->depth = base->depth + 1;
	}
	return s;
}

void address_space_put(struct address_space *s)
{
	while (s && !--s->n_refs) {
		struct address_space *base = s->base;

		touch_map_fini(&s->touches);
		vec_fini(&s->present);
		vec_fini(&s->areas);
		*s->total -= s->bytes;
		free(s);
		s = base;
	}
}

/* ---- areas ---------------------------------------------------------------------------- */

/* Returns the index of the first area that ends after @page. */
static size_t area_at(const struct address_space *s, uint64_t page)
{
	size_t lo = 0, hi = s->areas.len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->areas.data[mid].end <= page)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Returns the area of @page that was mapped in this program; NULL if there is none. */
static const struct mapped_area *find_area(const struct address_space *s, uint64_t page)
{
	size_t i = area_at(s, page);

	return i < s->areas.len && s->areas.data[i].start <= page ? &s->areas.data[i] : NULL;
}

/* Replaces @n areas from index @at on with those of @by. */
static int replace_areas(struct address_space *s, size_t at, size_t n, const struct mapped_area *by,
			 size_t n_by)
{
	int r = vec_reserve(&s->areas, s->areas.len + n_by);

	if (r < 0)
		return r;
	memmove(s->areas.data + at + n_by, s->areas.data + at + n,
		(s->areas.len - at - n) * sizeof(*by));
	memcpy(s->areas.data + at, by, n_by * sizeof(*by));
	s->areas.len += n_by - n;
	return 0;
}

/*
 * Parts of older areas that the new one does not cover remain, although they may have been
 * unmapped.
 */
int address_space_map(struct address_space *s, uint64_t start, uint64_t end, uint64_t time_ns)
{
	const struct mapped_area added = { start, end, time_ns, 0 };
	size_t first = area_at(s, start), last = first, n = 0;
	struct mapped_area parts[3];
	int r;

	while (last < s->areas.len && s->areas.data[last].start < end)
		last++;
	if (first < last && s->areas.data[first].start < start) {
		parts[n] = s->areas.data[first];
		parts[n++].end = start;
	}
	parts[n++] = added;
	if (first < last && s->areas.data[last - 1].end > end) {
		parts[n] = s->areas.data[last - 1];
		parts[n++].start = end;
	}
	r = replace_areas(s, first, last - first, parts, n);
	if (r == 0)
		touch_map_clear(&s->touches, start, end);
	account(s);
	return r;
}

void address_space_set_mapper(struct address_space *s, uint64_t start, uint64_t time_ns,
			      uint32_t mapper)
{
	size_t i = area_at(s, start);

	for (; i < s->areas.len && s->areas.data[i].time_ns != time_ns; i++)
		if (s->areas.data[i].start > start)
			return;
	if (i < s->areas.len)
		s->areas.data[i].mapper = mapper;
}

/* ---- pages ---------------------------------------------------------------------------- */

/*
 * Returns the latest toucher of @page with the flag WRITTEN, in @s or a base; 0 if there is none.
 * An area that was mapped since a fork hides the bases.
 */
static uint32_t find_touch(const struct address_space *s, uint64_t page)
{
	uint32_t value = 0;

	for (; s && !value; s = s->base) {
		value = touch_map_get(&s->touches, page);
		if (find_area(s, page))
			break;
	}
	return value;
}

static bool has_range(const struct address_space *s, uint64_t page)
{
	size_t lo = 0, hi = s->present.len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->present.data[mid].end <= page)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->present.len && s->present.data[lo].start <= page;
}

static bool was_before(const struct address_space *s, uint64_t page)
{
	for (; s && !find_area(s, page); s = s->base)
		if (has_range(s, page))
			return true;
	return false;
}

int address_space_touch(struct address_space *s, const struct page_touch *t)
{
	uint32_t old = t->was_present ? find_touch(s, t->page) : 0;
	const struct mapped_area *area = find_area(s, t->page);
	int r;

	if (area && t->time_ns < area->time_ns)
		return 0;
	if (t->was_present && (!t->is_write || old & WRITTEN || (!old && was_before(s, t->page))))
		return 0;
	r = touch_map_set(&s->touches, t->page, t->toucher | (t->is_write ? WRITTEN : 0));
	account(s);
	return r;
}

int address_space_add_present(struct address_space *s, uint64_t start, uint64_t end)
{
	struct page_range *last = s->present.len ? &s->present.data[s->present.len - 1] : NULL;
	int r;

	if (last && last->end == start) {
		last->end = end;
		return 0;
	}
	r = vec_push(&s->present, (struct page_range){ start, end });
	account(s);
	return r;
}

uint32_t address_space_owner(const struct address_space *s, const struct owned_page *p,
			     bool *out_is_near)
{
	uint64_t page = p->page;
	uint32_t value = find_touch(s, page);

	*out_is_near = !value;
	if (!value && was_before(s, page))
		return ADDRESS_SPACE_BEFORE;
	for (; s && !value; s = s->base) {
		const struct mapped_area *area = find_area(s, page);

		value = touch_map_near(&s->touches, page, p->mapping, p->is_huge);
		if (!value && area) {
			*out_is_near = false;
			return area->mapper;
		}
	}
	return value & ~WRITTEN;
}

bool address_space_is_whole(const struct address_space *s)
{
	for (; s; s = s->base)
		if (!s->has_snapshot)
			return false;
	return true;
}
