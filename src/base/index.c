/* SPDX-License-Identifier: Apache-2.0 */
#include "base/index.h"

#include <errno.h>
#include <stdlib.h>

enum { INDEX_MIN_SLOTS = 16 };

void index_fini(struct index *ix)
{
	free(ix->slots);
	*ix = (struct index){ 0 };
}

bool index_find(const struct index *ix, uint32_t hash, index_eq_fn eq, const void *ctx,
		uint32_t *out_id)
{
	uint32_t mask = ix->n_slots - 1;

	if (!ix->n_slots)
		return false;
	for (uint32_t i = hash & mask; ix->slots[i].id_plus_1; i = (i + 1) & mask) {
		const struct index_slot *s = &ix->slots[i];

		if (s->hash == hash && eq(ctx, s->id_plus_1 - 1)) {
			*out_id = s->id_plus_1 - 1;
			return true;
		}
	}
	return false;
}

static void index_place(struct index_slot *slots, uint32_t mask, struct index_slot s)
{
	uint32_t i = s.hash & mask;

	while (slots[i].id_plus_1)
		i = (i + 1) & mask;
	slots[i] = s;
}

static int index_resize(struct index *ix, uint32_t n_slots)
{
	struct index_slot *slots = calloc(n_slots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < ix->n_slots; i++)
		if (ix->slots[i].id_plus_1)
			index_place(slots, n_slots - 1, ix->slots[i]);
	free(ix->slots);
	ix->slots = slots;
	ix->n_slots = n_slots;
	return 0;
}

int index_reserve(struct index *ix, size_t n)
{
	uint32_t slots = ix->n_slots ? ix->n_slots : INDEX_MIN_SLOTS;

	if (n > UINT32_MAX / 4)
		return -ENOMEM;
	while ((uint64_t)n * 4 > (uint64_t)slots * 3)
		slots *= 2;
	return slots > ix->n_slots ? index_resize(ix, slots) : 0;
}

int index_add(struct index *ix, uint32_t hash, uint32_t id)
{
	if (id == UINT32_MAX || ix->n_used >= UINT32_MAX / 4)
		return -ENOMEM;
	/* At least a quarter of the slots stay empty, so every probe ends. */
	if ((uint64_t)(ix->n_used + 1) * 4 > (uint64_t)ix->n_slots * 3) {
		uint32_t n = ix->n_slots ? ix->n_slots * 2 : INDEX_MIN_SLOTS;
		int r = index_resize(ix, n);

		if (r < 0)
			return r;
	}
	index_place(ix->slots, ix->n_slots - 1, (struct index_slot){ hash, id + 1 });
	ix->n_used++;
	return 0;
}

/*
 * Empties slot @i without a tombstone: later entries of the same probe run move back into the
 * hole as long as that does not take them in front of their home slot (Knuth, vol. 3, 6.4,
 * algorithm R).
 */
static void remove_slot(struct index *ix, uint32_t i)
{
	uint32_t mask = ix->n_slots - 1;

	for (uint32_t j = (i + 1) & mask; ix->slots[j].id_plus_1; j = (j + 1) & mask) {
		uint32_t home = ix->slots[j].hash & mask;

		if (((j - home) & mask) >= ((j - i) & mask)) {
			ix->slots[i] = ix->slots[j];
			i = j;
		}
	}
	ix->slots[i] = (struct index_slot){ 0 };
}

void index_remove(struct index *ix, uint32_t hash, uint32_t id)
{
	uint32_t mask = ix->n_slots - 1;

	if (!ix->n_slots)
		return;
	for (uint32_t i = hash & mask; ix->slots[i].id_plus_1; i = (i + 1) & mask) {
		if (ix->slots[i].id_plus_1 == id + 1) {
			remove_slot(ix, i);
			ix->n_used--;
			return;
		}
	}
}
