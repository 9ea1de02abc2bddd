/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/sweep.h"

struct x86_insn;

/* What holds behind @insn, when @s holds before it. */
void unwind_sweep_step(struct unwind_sweep_state *s, const struct x86_insn *insn);
