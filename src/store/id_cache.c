/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open-addressing hash table. When it would exceed MAX_SLOTS, it is cleared instead of grown.
 * Clearing needs no record of use, and a day's working set is rebuilt by one profile of each
 * service; an LRU list would cost two more words per slot and a write on each hit. Collisions are
 * resolved by linear probing at a load of at most three quarters; entries are never removed one by
 * one.
 */
#include "store/id_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { MIN_SLOTS = 1024, MAX_SLOTS = 1 << 18 };

void id_cache_fini(struct id_cache *m)
{
	free(m->slots);
	*m = (struct id_cache){ 0 };
}

struct id_cache_key id_cache_key(uint64_t seed, const void *data, size_t len)
{
	XXH128_hash_t h = XXH3_128bits_withSeed(data, len, seed);

	return (struct id_cache_key){ h.low64, h.high64 };
}

static struct id_cache_slot *find_slot(const struct id_cache *m, struct id_cache_key key)
{
	uint32_t mask = m->n_slots - 1, i = (uint32_t)key.low & mask;

	while (m->slots[i].value_plus_1 &&
	       (m->slots[i].key.low != key.low || m->slots[i].key.high != key.high))
		i = (i + 1) & mask;
	return &m->slots[i];
}

bool id_cache_find(const struct id_cache *m, struct id_cache_key key, uint32_t *out_value)
{
	const struct id_cache_slot *s = m->n_slots ? find_slot(m, key) : NULL;

	if (!s || !s->value_plus_1)
		return false;
	*out_value = s->value_plus_1 - 1;
	return true;
}

/*
 * Doubles the table, or clears it at the maximum. False if memory runs out. After a failure the
 * table is unchanged and full to three quarters, so probing still ends.
 */
static bool grow(struct id_cache *m)
{
	uint32_t n = m->n_slots ? m->n_slots * 2 : MIN_SLOTS;
	struct id_cache_slot *old = m->slots;
	uint32_t n_old = m->n_slots;

	if (n > MAX_SLOTS) {
		memset(m->slots, 0, m->n_slots * sizeof(*m->slots));
		m->n_used = 0;
		return true;
	}
	m->slots = calloc(n, sizeof(*m->slots));
	if (!m->slots) {
		m->slots = old;
		return false;
	}
	m->n_slots = n;
	for (uint32_t i = 0; i < n_old; i++)
		if (old[i].value_plus_1)
			*find_slot(m, old[i].key) = old[i];
	free(old);
	return true;
}

void id_cache_add(struct id_cache *m, struct id_cache_key key, uint32_t value)
{
	struct id_cache_slot *s;

	if (m->n_used >= m->n_slots / 4 * 3 && !grow(m))
		return;
	s = find_slot(m, key);
	m->n_used += !s->value_plus_1;
	*s = (struct id_cache_slot){ key, value + 1 };
}
