/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing; when it is as large as it may be, it starts anew. */
#include "store/memo.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { MIN_SLOTS = 1024, MAX_SLOTS = 1 << 18 };

void memo_fini(struct memo *m)
{
	free(m->slots);
	*m = (struct memo){ 0 };
}

struct memo_key memo_key(const void *data, size_t len)
{
	XXH128_hash_t h = XXH3_128bits_withSeed(data, len, hash_seed());

	return (struct memo_key){ h.low64, h.high64 };
}

static struct memo_slot *find_slot(const struct memo *m, struct memo_key key)
{
	uint32_t mask = m->n_slots - 1, i = (uint32_t)key.low & mask;

	while (m->slots[i].value_plus_1 &&
	       (m->slots[i].key.low != key.low || m->slots[i].key.high != key.high))
		i = (i + 1) & mask;
	return &m->slots[i];
}

bool memo_find(const struct memo *m, struct memo_key key, uint32_t *out_value)
{
	const struct memo_slot *s = m->n_slots ? find_slot(m, key) : NULL;

	if (!s || !s->value_plus_1)
		return false;
	*out_value = s->value_plus_1 - 1;
	return true;
}

static bool grow(struct memo *m)
{
	uint32_t n = m->n_slots ? m->n_slots * 2 : MIN_SLOTS;
	struct memo_slot *old = m->slots;
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

void memo_add(struct memo *m, struct memo_key key, uint32_t value)
{
	struct memo_slot *s;

	if (m->n_used >= m->n_slots / 4 * 3 && !grow(m))
		return;
	s = find_slot(m, key);
	m->n_used += !s->value_plus_1;
	*s = (struct memo_slot){ key, value + 1 };
}

size_t memo_bytes(const struct memo *m)
{
	return m->n_slots * sizeof(*m->slots);
}
