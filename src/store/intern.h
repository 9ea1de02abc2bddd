/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Translates the stacks of a profile into nodes of a stack dictionary.
 *
 * Most of what a service's profile contains was in the profiles before it. Each frame and each
 * stack therefore has a key, a hash of all its texts. The thread that appends a profile computes
 * the keys; the single writer thread then needs one cache lookup per stack, and only new stacks go
 * through the tables of strings, frames and nodes.
 *
 * Ids are never freed while the dictionary lives. A key that is forgotten or computed differently
 * only costs time, because the dictionary itself interns by contents.
 */
#include <stdint.h>

#include "store/id_cache.h"

struct profile;
struct stack_dict;

/*
 * All arrays belong to the profile for which they were built and have one element per object of it.
 */
struct intern_keys {
	struct id_cache_key *stacks; /* indexed by stack */
	struct id_cache_key *frames; /* of all locations in sequence, each innermost frame first */
	uint32_t *first;             /* indexed by location: where its keys begin in frames */
};

/* Any thread. Returns 0 or -ENOMEM; free @out with intern_keys_fini(). */
int intern_keys_build(struct intern_keys *out, const struct profile *p);
void intern_keys_fini(struct intern_keys *k);

/*
 * Frames and stacks that were interned recently. Belongs to the writer thread. Both caches hold ids
 * of one dictionary and must be freed with it. Zero-initialize it.
 */
struct intern {
	struct id_cache frames, stacks;
};

void intern_fini(struct intern *in);

/*
 * Writes the node of each stack of @p to @out_nodes, which has room for profile_n_stacks(). New
 * strings, frames and nodes are added to @s. Returns 0 or -ENOMEM. @keys must have been built from
 * @p. The caller holds the lock under which @s may change. After an error @s may hold some of the
 * strings, frames and nodes, which is harmless.
 */
int intern_stacks(struct intern *in, struct stack_dict *s, const struct profile *p,
		  const struct intern_keys *keys, uint32_t *out_nodes);
