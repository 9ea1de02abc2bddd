/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every start and end of a mapping begins a segment, so no segment lies partly in a mapping. Later
 * mappings are laid out first, and each earlier one gets the segments that are still free. A chain
 * of links leads from each segment to the next free one, and is shortened on the way.
 */
#include "codec/gperftools/address_map.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bisect.h"

void address_map_fini(struct address_map *m)
{
	vec_fini(&m->ranges);
	vec_fini(&m->segments);
}

int address_map_add(struct address_map *m, uint64_t start, uint64_t limit, uint32_t id)
{
	return vec_push(&m->ranges, (struct address_range){ start, limit, id });
}

static int compare_segments(const void *a, const void *b)
{
	const struct address_segment *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Returns how many segments begin at or before @address. The last of them contains it. */
static size_t segments_until(const struct address_map *m, uint64_t address)
{
	return bisect(m->segments.len, i, m->segments.data[i].start <= address);
}

/* Returns the first segment from @i on that has no mapping yet. */
static uint32_t find_free(struct address_map *m, uint32_t i)
{
	struct address_segment *s = m->segments.data;

	while (s[i].next != i) {
		s[i].next = s[s[i].next].next;
		i = s[i].next;
		m->n_steps++;
	}
	return i;
}

/* Makes one segment of each start and each limit. */
static int make_segments(struct address_map *m, uint32_t none)
{
	struct address_segment *s;
	size_t n = 0;

	if (vec_reserve(&m->segments, 2 * m->ranges.len + 1) < 0)
		return -ENOMEM;
	s = m->segments.data;
	for (size_t i = 0; i < m->ranges.len; i++) {
		s[2 * i] = (struct address_segment){ .start = m->ranges.data[i].start };
		s[2 * i + 1] = (struct address_segment){ .start = m->ranges.data[i].limit };
	}
	m->segments.len = 2 * m->ranges.len;
	if (m->segments.len)
		qsort(s, m->segments.len, sizeof(*s), compare_segments);
	for (size_t i = 0; i < m->segments.len; i++) {
		if (n && s[n - 1].start == s[i].start)
			continue;
		s[n] = (struct address_segment){ s[i].start, none, (uint32_t)n };
		n++;
	}
	m->segments.len = n;
	return 0;
}

int address_map_build(struct address_map *m, uint32_t none)
{
	int r = make_segments(m, none);

	for (size_t i = m->ranges.len; r == 0 && i-- > 0;) {
		const struct address_range *range = &m->ranges.data[i];
		struct address_segment *s = m->segments.data;
		uint32_t at = find_free(m, (uint32_t)segments_until(m, range->start) - 1);

		/* the last segment begins at the end of all mappings and always stays free */
		while (s[at].start < range->limit) {
			s[at].id = range->id;
			s[at].next = at + 1;
			at = find_free(m, at + 1);
			m->n_steps++;
		}
	}
	return r;
}

uint32_t address_map_find(const struct address_map *m, uint64_t address, uint32_t none)
{
	size_t n = segments_until(m, address);

	return n ? m->segments.data[n - 1].id : none;
}
