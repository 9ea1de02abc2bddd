/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What holds at an instruction by what follows it. */
#include <stdbool.h>
#include <stdint.h>

#include "unwind/sweep.h"

/* A path from an instruction whose depth is sought, counted from there. */
struct unwind_ahead {
	struct unwind_sweep *sw;
	int64_t depth;    /* words pushed since */
	int64_t rbp, rbx; /* depth at which they are popped */
	bool pops_rbp, pops_rbx;
	unsigned int n_calls; /* on the way */
};

/*
 * The state at @vaddr: a return must find the return address at rsp, and a jump must bring what
 * holds at its target. False if nothing tells.
 */
bool unwind_ahead_look(struct unwind_ahead *a, uint64_t vaddr, struct unwind_sweep_state *out);

/* What was seen of the path that leads on from where a pass over the code is. All zero: nothing. */
struct unwind_outlook {
	uint64_t vaddr; /* up to here nothing tells */
	uint64_t until; /* who begins here or later is not on this path any more */
	unsigned int n; /* instructions up to @vaddr */
	bool is_dead_end;
};

/*
 * Whether unwind_ahead_look() would tell nothing, as no instruction does. @vaddr is where the pass
 * is now: further on by an instruction for each unwind_outlook_step(). To be zeroed when states
 * have changed.
 */
bool unwind_outlook_is_bleak(struct unwind_sweep *sw, struct unwind_outlook *o, uint64_t vaddr);

static inline void unwind_outlook_step(struct unwind_outlook *o)
{
	o->n -= o->n > 0;
}
