/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A hash index of 32-bit ids. The things themselves live in an array of the
 * owner's; the index only finds the id of an equal one. Used for everything
 * that is interned (strings, frames, stacks) and for pid -> process.
 *
 * Open addressing, linear probing, the hash kept beside the id, so that
 * growing touches nothing else and @eq is seldom called in vain.
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

/* Does the thing with @id equal the one sought, which @ctx describes? */
typedef bool (*index_eq_fn)(const void *ctx, uint32_t id);

void index_fini(struct index *ix);

/* The id of the thing that equals @ctx: true and *@out_id, or false. */
bool index_find(const struct index *ix, uint32_t hash, index_eq_fn eq, const void *ctx,
		uint32_t *out_id);

/* Make room for @n ids in all: 0 or -ENOMEM. */
int index_reserve(struct index *ix, size_t n);

/* Add @id; the caller knows that no equal one is there. 0 or -ENOMEM. */
int index_add(struct index *ix, uint32_t hash, uint32_t id);

/* Remove @id, which was added with @hash; nothing happens if it is not there. */
void index_remove(struct index *ix, uint32_t hash, uint32_t id);
