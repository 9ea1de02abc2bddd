/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Where functions begin in the code that a sweep analyses (unwind/sweep.h). */
#include <stdbool.h>
#include <stddef.h>

#include "unwind/sweep_code.h"

struct elf_image;

/* The state at the first instruction of a function: the return address is at rsp. */
#define UNWIND_SWEEP_ENTERED ((struct unwind_sweep_state){ .seen = 1 })

/* Returns true if the bytes at @at are instructions for a while; jump tables among code are not. */
bool unwind_sweep_looks_like_code(const struct unwind_sweep_gap *g, size_t at);

/*
 * Marks the starts of functions in the gaps: symbols, functions that code in the gaps calls or
 * whose addresses it loads, functions that the dynamic loader calls and, if @sw->referenced is set,
 * aligned code to which code outside of the gaps leads.
 */
void unwind_sweep_begin_functions(struct unwind_sweep *sw, const struct elf_image *img);
