/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A depth-first walk of a call tree for output. It does not recurse, since stacks may be deep. Use:
 * calls_walk_enter() for node 0, then for each node that calls_walk_next() returns and whose
 * children should follow; calls_walk_fini() in every case.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct calls;

struct calls_walk {
	const struct calls *c;
	uint64_t limit;     /* branches of each node; 0: no limit */
	double min_percent; /* of the sum; branches below it are skipped */
	struct {
		VEC(uint32_t);
	} next; /* for each level, the sibling that comes next */
	struct {
		VEC(uint64_t);
	} left; /* for each level, how many more siblings the limit allows */
};

/* Begins the level of the children of @node. Returns 0 or -ENOMEM. */
int calls_walk_enter(struct calls_walk *w, uint32_t node);
void calls_walk_fini(struct calls_walk *w);

/*
 * Finds the next node, and its depth; false at the end of the tree. *@out_n_closed is the number of
 * entered nodes, without node 0, whose children ended before.
 */
bool calls_walk_next(struct calls_walk *w, uint32_t *out, size_t *out_depth, size_t *out_n_closed);
