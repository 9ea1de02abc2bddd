/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the mapping of an address among mappings that may overlap, as those of a process that
 * replaced mappings do in a profile: the one that was added last wins. Building takes N log N steps
 * for N mappings, however many of them overlap.
 *
 * Use: address_map_add() for each mapping in order, address_map_build(), then address_map_find().
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct address_range {
	uint64_t start, limit; /* start is below limit */
	uint32_t id;
};

struct address_segment {
	uint64_t start;
	uint32_t id;
	uint32_t next; /* a segment at or after this one that may have no mapping yet */
};

/* A zeroed struct is an empty map. */
struct address_map {
	struct {
		VEC(struct address_range);
	} ranges; /* in the order in which they were added */
	struct {
		VEC(struct address_segment);
	} segments;     /* by address */
	size_t n_steps; /* segments that were visited to build the map, for tests */
};

void address_map_fini(struct address_map *m);

/* Adds the mapping of [@start, @limit), which must not be empty. Returns 0 or -ENOMEM. */
int address_map_add(struct address_map *m, uint64_t start, uint64_t limit, uint32_t id);

/* Lays out the mappings. Addresses that none of them contains get @none. Returns 0 or -ENOMEM. */
int address_map_build(struct address_map *m, uint32_t none);

/* Returns the id of the mapping that contains @address, or @none if there is none. */
uint32_t address_map_find(const struct address_map *m, uint64_t address, uint32_t none);
