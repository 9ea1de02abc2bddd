/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bpf/shared/unwind_rule.h"
#include "unwind/sweep.h"

struct x86_insn;

/* What holds behind @insn, when @s holds before it. */
void unwind_sweep_step(struct unwind_sweep_state *s, const struct x86_insn *insn);

/* The rule for where @s holds; UNWIND_CFA_NONE if nothing is certain. */
struct unwind_rule unwind_sweep_rule(const struct unwind_sweep_state *s);
