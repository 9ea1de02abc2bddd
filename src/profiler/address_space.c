/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/address_space.h"

#include <stdlib.h>

/* Flag of a toucher: by a write. */
#define WRITTEN 0x80000000u

static void account(struct address_space *s)
{
	size_t bytes = sizeof(*s) + touch_map_bytes(&s->touches) +
		       s->present.cap * sizeof(*s->present.data);

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
		*s->total -= s->bytes;
		free(s);
		s = base;
	}
}

/* Returns the latest toucher of @page with the flag WRITTEN, in @s or a base; 0 if there is none.
 */
static uint32_t find_touch(const struct address_space *s, uint64_t page)
{
	uint32_t value = 0;

	for (; s && !value; s = s->base)
		value = touch_map_get(&s->touches, page);
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
	for (; s; s = s->base)
		if (has_range(s, page))
			return true;
	return false;
}

int address_space_touch(struct address_space *s, uint64_t page, uint32_t toucher, bool was_present,
			bool is_write)
{
	uint32_t old = was_present ? find_touch(s, page) : 0;
	int r;

	if (was_present && (!is_write || old & WRITTEN || (!old && was_before(s, page))))
		return 0;
	r = touch_map_set(&s->touches, page, toucher | (is_write ? WRITTEN : 0));
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

uint32_t address_space_owner(const struct address_space *s, uint64_t page, bool is_huge,
			     bool *out_is_near)
{
	uint32_t value = find_touch(s, page);

	*out_is_near = !value;
	if (!value && was_before(s, page))
		return ADDRESS_SPACE_BEFORE;
	for (; s && !value; s = s->base)
		value = touch_map_near(&s->touches, page, is_huge);
	return value & ~WRITTEN;
}

bool address_space_is_whole(const struct address_space *s)
{
	for (; s; s = s->base)
		if (!s->has_snapshot)
			return false;
	return true;
}
