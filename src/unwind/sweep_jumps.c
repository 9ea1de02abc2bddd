/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Position-independent code adds a distance, which it reads from the table, to the table's address,
 * and jumps to the sum: jmp *%reg shortly after add %reg,%reg. Other indirect jumps are mostly
 * calls in tail position, after which another function follows.
 */
#include "unwind/sweep_jumps.h"

enum { SUM_MAX = 32 }; /* instructions between the addition and the jump */

static bool is_equal(const struct unwind_sweep_state *a, const struct unwind_sweep_state *b)
{
	return a->depth == b->depth && a->frame == b->frame && a->rsp_moved == b->rsp_moved;
}

void unwind_sweep_jumps_step(struct unwind_sweep_jumps *j, uint8_t sum)
{
	j->n++;
	if (sum < UNWIND_SWEEP_REGISTERS)
		j->sums[sum] = j->n;
}

void unwind_sweep_jumps_note(struct unwind_sweep_jumps *j, uint8_t reg,
			     const struct unwind_sweep_state *s)
{
	if (reg >= UNWIND_SWEEP_REGISTERS || !j->sums[reg] || j->n - j->sums[reg] > SUM_MAX)
		return;
	if (s->lost || (j->state.seen && !is_equal(&j->state, s)))
		j->differ = true;
	j->state = *s;
	j->state.start = j->state.returns = 0;
}

const struct unwind_sweep_state *unwind_sweep_jumps_state(const struct unwind_sweep_jumps *j)
{
	return j->state.seen && !j->differ ? &j->state : NULL;
}
