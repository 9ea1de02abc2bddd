/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/touch_map.h"

#include <errno.h>
#include <stdbool.h>

#include "base/hash.h"

struct block_key {
	const struct touch_map *m;
	uint64_t number;
};

void touch_map_fini(struct touch_map *m)
{
	vec_fini(&m->blocks);
	index_fini(&m->by_number);
}

static bool same_block(const void *ctx, uint32_t id)
{
	const struct block_key *k = ctx;

	return k->m->blocks.data[id].number == k->number;
}

static struct touch_block *find(const struct touch_map *m, uint64_t number)
{
	struct block_key key = { m, number };
	uint32_t id;

	if (!index_find(&m->by_number, hash_u64(number), same_block, &key, &id))
		return NULL;
	return &m->blocks.data[id];
}

uint32_t touch_map_get(const struct touch_map *m, uint64_t page)
{
	const struct touch_block *b = find(m, page / TOUCH_BLOCK_PAGES);

	return b ? b->values[page % TOUCH_BLOCK_PAGES] : 0;
}

static struct touch_block *add(struct touch_map *m, uint64_t number)
{
	uint32_t id = (uint32_t)m->blocks.len;

	if (vec_push(&m->blocks, (struct touch_block){ .number = number }) < 0)
		return NULL;
	if (index_add(&m->by_number, hash_u64(number), id) < 0) {
		m->blocks.len--;
		return NULL;
	}
	return &m->blocks.data[id];
}

int touch_map_set(struct touch_map *m, uint64_t page, uint32_t value)
{
	struct touch_block *b = find(m, page / TOUCH_BLOCK_PAGES);

	if (!b)
		b = add(m, page / TOUCH_BLOCK_PAGES);
	if (!b)
		return -ENOMEM;
	b->values[page % TOUCH_BLOCK_PAGES] = value;
	return 0;
}

static void clear_block(struct touch_block *b, uint64_t start, uint64_t end)
{
	uint64_t first = b->number * TOUCH_BLOCK_PAGES;

	for (unsigned int i = 0; i < TOUCH_BLOCK_PAGES; i++)
		if (first + i >= start && first + i < end)
			b->values[i] = 0;
}

/*
 * Visits the blocks that exist rather than all numbers of the range, because programs reserve
 * terabytes, of which few blocks have values.
 */
void touch_map_clear(struct touch_map *m, uint64_t start, uint64_t end)
{
	uint64_t first = start / TOUCH_BLOCK_PAGES,
		 n = (end + TOUCH_BLOCK_PAGES - 1) / TOUCH_BLOCK_PAGES - first;

	if (n > m->blocks.len) {
		for (size_t i = 0; i < m->blocks.len; i++)
			clear_block(&m->blocks.data[i], start, end);
		return;
	}
	for (uint64_t i = first; i < first + n; i++) {
		struct touch_block *b = find(m, i);

		if (b)
			clear_block(b, start, end);
	}
}

/* Returns the value of the page at @distance from @page, if that is in the block and @bounds. */
static uint32_t value_at(const struct touch_block *b, uint64_t page, int64_t distance,
			 struct page_range bounds)
{
	uint64_t at = page + (uint64_t)distance;

	if (at / TOUCH_BLOCK_PAGES != b->number || at < bounds.start || at >= bounds.end)
		return 0;
	return b->values[at % TOUCH_BLOCK_PAGES];
}

/* Returns the value of the page of a block that is nearest to @page, which is in it. */
static uint32_t nearest(const struct touch_block *b, uint64_t page, struct page_range bounds)
{
	uint32_t value = 0;

	for (int64_t distance = 0; !value && distance < TOUCH_BLOCK_PAGES; distance++) {
		value = value_at(b, page, -distance, bounds);
		if (!value)
			value = value_at(b, page, distance, bounds);
	}
	return value;
}

uint32_t touch_map_near(const struct touch_map *m, uint64_t page, struct page_range bounds,
			int is_huge)
{
	const struct touch_block *b = find(m, page / TOUCH_BLOCK_PAGES);
	uint64_t first = page / TOUCH_HUGE_PAGES * TOUCH_HUGE_PAGES;
	uint32_t value = b ? nearest(b, page, bounds) : 0;

	for (uint64_t i = 0; !value && is_huge && i < TOUCH_HUGE_PAGES; i += TOUCH_BLOCK_PAGES) {
		b = find(m, (first + i) / TOUCH_BLOCK_PAGES);
		value = b ? nearest(b, first + i, bounds) : 0;
	}
	return value;
}

size_t touch_map_bytes(const struct touch_map *m)
{
	return m->blocks.cap * sizeof(*m->blocks.data) +
	       (size_t)m->by_number.n_slots * sizeof(*m->by_number.slots);
}
