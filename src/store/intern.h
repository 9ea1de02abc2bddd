/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The stacks of a profile as nodes of a day's symbols.
 *
 * A profile of a service is mostly made of what those before it had. So each
 * frame and each stack has a key, a hash of all its texts; keys are made by
 * whoever brings the profile, and the one thread that writes looks up a key a
 * stack. Only what is new goes through the tables of strings, frames and nodes.
 */
#include <stdint.h>

#include "store/memo.h"

struct profile;
struct symbols;

struct intern_keys {
	struct memo_key *stacks; /* by stack */
	struct memo_key *frames; /* of all locations, innermost first */
	uint32_t *first;         /* by location: its first frame */
};

/* 0 or -ENOMEM. */
int intern_keys_make(struct intern_keys *out, const struct profile *p);
void intern_keys_fini(struct intern_keys *k);

/* What a day had before. */
struct intern {
	struct memo frames, stacks;
};

void intern_fini(struct intern *in);

/* A node for each stack, by its id. 0 or -ENOMEM. */
int intern_stacks(struct intern *in, struct symbols *s, const struct profile *p,
		  const struct intern_keys *keys, uint32_t *out_nodes);
