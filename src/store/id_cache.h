/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A bounded cache from a 128-bit hash of an object's contents to the id under which the object was
 * interned. The hash is seeded and wide enough that equal hashes are treated as equal contents. A
 * forgotten entry costs time, not correctness. Not thread-safe. An attacker cannot aim at
 * collisions without the seed, which is why 16 bytes can stand for the contents and the contents
 * need not be kept or compared. Keys are valid in this process only and must not be stored.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct id_cache_key {
	uint64_t low, high;
};

struct id_cache_slot {
	struct id_cache_key key;
	uint32_t value_plus_1; /* 0 marks an empty slot */
};

/* Zero-initialize it. */
struct id_cache {
	struct id_cache_slot *slots;
	uint32_t n_slots; /* 0 or a power of two */
	uint32_t n_used;
};

void id_cache_fini(struct id_cache *m);

/* Memory in bytes. */
static inline size_t id_cache_bytes(const struct id_cache *m)
{
	return m->n_slots * sizeof(*m->slots);
}

/*
 * Hashes @data. All keys of a cache have the same seed, that of the process (hash_seed()), so any
 * thread may compute keys for any cache.
 */
struct id_cache_key id_cache_key(uint64_t seed, const void *data, size_t len);
bool id_cache_find(const struct id_cache *m, struct id_cache_key key, uint32_t *out_value);

/*
 * Adds or replaces an entry. If memory runs out, the entry is not added. At most 196,608 entries (6
 * MiB) are held; when there would be more, all are forgotten. UINT32_MAX is not a valid value.
 */
void id_cache_add(struct id_cache *m, struct id_cache_key key, uint32_t value);
