/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Applies one instruction to the state of a sweep, and derives the unwind rule of a state. */
#include "bpf/shared/unwind_rule.h"
#include "unwind/sweep_code.h"

struct x86_insn;

/* Turns the state before @insn into the state after it. */
void unwind_sweep_step(struct unwind_sweep_state *s, const struct x86_insn *insn);

/* The rule where @s holds; UNWIND_CFA_NONE where it is not known. */
struct unwind_rule unwind_sweep_rule(const struct unwind_sweep_state *s);
