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

/* Returns the value nearest to index @at of a block. */
static uint32_t nearest(const struct touch_block *b, unsigned int at)
{
	for (unsigned int distance = 0; distance < TOUCH_BLOCK_PAGES; distance++) {
		if (distance <= at && b->values[at - distance])
			return b->values[at - distance];
		if (at + distance < TOUCH_BLOCK_PAGES && b->values[at + distance])
			return b->values[at + distance];
	}
	return 0;
}

uint32_t touch_map_near(const struct touch_map *m, uint64_t page, int is_huge)
{
	const struct touch_block *b = find(m, page / TOUCH_BLOCK_PAGES);
	uint64_t first = page / TOUCH_HUGE_PAGES * TOUCH_HUGE_PAGES / TOUCH_BLOCK_PAGES;
	uint32_t value = b ? nearest(b, page % TOUCH_BLOCK_PAGES) : 0;

	for (uint64_t i = 0; !value && is_huge && i < TOUCH_HUGE_PAGES / TOUCH_BLOCK_PAGES; i++) {
		b = find(m, first + i);
		value = b ? nearest(b, 0) : 0;
	}
	return value;
}

size_t touch_map_bytes(const struct touch_map *m)
{
	return m->blocks.cap * sizeof(*m->blocks.data) +
	       (size_t)m->by_number.n_slots * sizeof(*m->by_number.slots);
}
