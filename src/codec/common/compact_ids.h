/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Renumbers a profile's ids for a file that contains only what is referred to: an id gets the next
 * number, from 1, when it is first looked up. Writers look ids up while they write references and
 * write the tables afterwards, from ids, so that one pass over the samples is enough. Not
 * thread-safe.
 */
#include <stdint.h>

#include "base/vec.h"

struct compact_ids {
	uint32_t *numbers; /* the number of each of the profile's ids; 0: none yet */
	struct {
		VEC(uint32_t);
	} ids;     /* the profile's ids; number n is ids.data[n - 1] */
	int error; /* -ENOMEM once memory ran out; sticks */
};

/* For ids below @count. Returns 0 or -ENOMEM. */
int compact_ids_init(struct compact_ids *c, uint32_t count);
void compact_ids_fini(struct compact_ids *c);

/* Forgets all numbers, in time proportional to how many there are. */
void compact_ids_reset(struct compact_ids *c);

/*
 * The number of @id, which must be below the count of compact_ids_init(). Without memory the result
 * is not meaningful and error is set; callers check error once, at the end.
 */
uint32_t compact_ids_get(struct compact_ids *c, uint32_t id);
