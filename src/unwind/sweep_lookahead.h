/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Derives the state at an instruction from the code that follows it. */
#include <stdbool.h>
#include <stdint.h>

#include "unwind/sweep_code.h"

/* A path from an instruction whose depth is unknown; depths are relative to that instruction. */
struct unwind_lookahead {
	struct unwind_sweep *sw;
	int64_t depth;    /* words pushed since then */
	int64_t rbp, rbx; /* depths at which they are popped */
	bool pops_rbp, pops_rbx;
	unsigned int n_calls; /* calls on the path */
};

/*
 * Finds the state at @vaddr: a return must find the return address at rsp, and a jump must arrive
 * with the state of its target. Returns false if nothing on the path decides it.
 */
bool unwind_lookahead_find(struct unwind_lookahead *a, uint64_t vaddr,
			   struct unwind_sweep_state *out);

/*
 * The knowledge about the path from the current instruction of a pass over the code. All zero:
 * nothing is known.
 */
struct unwind_dead_end {
	uint64_t vaddr; /* nothing up to here decides a state */
	uint64_t until; /* instructions from here on are not on this path */
	unsigned int n; /* number of instructions up to @vaddr */
	bool is_dead_end;
};

/*
 * True if unwind_lookahead_find() would find nothing. @vaddr is the current instruction of the
 * pass, which has advanced by one for each unwind_dead_end_step(). Zero @o when states have
 * changed.
 */
bool unwind_dead_end_covers(struct unwind_sweep *sw, struct unwind_dead_end *o, uint64_t vaddr);

static inline void unwind_dead_end_step(struct unwind_dead_end *o)
{
	o->n -= o->n > 0;
}
