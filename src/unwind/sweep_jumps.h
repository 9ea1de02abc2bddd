/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The jumps by tables (of a switch) in the function that a pass over swept code is in, and the
 * state in which they leave: that of the code to which they lead.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/sweep_code.h"

enum { UNWIND_SWEEP_REGISTERS = 16 };

/* All zero at the beginning of a function. */
struct unwind_sweep_jumps {
	struct unwind_sweep_state state;       /* at the last of them */
	bool differ;                           /* they have several states */
	uint32_t n;                            /* instructions so far */
	uint32_t sums[UNWIND_SWEEP_REGISTERS]; /* n after the last addition to each register; 0:
						  none */
};

/*
 * Counts an instruction. @sum: the register to which it adds another one; a number that is not
 * below UNWIND_SWEEP_REGISTERS if it does not.
 */
void unwind_sweep_jumps_step(struct unwind_sweep_jumps *j, uint8_t sum);

/* Notes the jump to the address in @reg, before which @s holds, if it is by a table. */
void unwind_sweep_jumps_note(struct unwind_sweep_jumps *j, uint8_t reg,
			     const struct unwind_sweep_state *s);

/* The state of the code to which the jumps lead; NULL if there are none, or it is not certain. */
const struct unwind_sweep_state *unwind_sweep_jumps_state(const struct unwind_sweep_jumps *j);
