/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Samples in the kernel's handling of a uprobe, which is a breakpoint in place of an instruction.
 * Until the kernel corrects it (handle_swbp() in kernel/events/uprobes.c), the saved pc is the
 * address after the breakpoint, where another row of the unwind table may begin. If the instruction
 * is a push, that row would give a CFA that is wrong by 8 bytes, and the walk would skip the
 * caller. Then the kernel emulates the instruction: a push or a call moves the stack pointer before
 * the instruction pointer follows (emulate_push_stack() in arch/x86/kernel/uprobes.c).
 */
#include "bpf/lib/calls.h"

/*
 * If the trap by which the thread entered the kernel is a breakpoint, moves the pc in w->leaf_regs
 * back to it and sets w->at_breakpoint.
 */
static __always_inline void breakpoint_undo(struct walk *w)
{
	__u64 pc = w->leaf_regs[UREG_PC];
	__u16 code = 0;

	if (read_user(&code, sizeof(code), pc - 1))
		return;
	w->at_breakpoint = arch_is_breakpoint(code >> 8);
	if (w->at_breakpoint || !arch_is_behind_breakpoint(code, pc))
		return;
	w->at_breakpoint = 1;
	w->leaf_regs[UREG_PC] = pc - 1;
}

/*
 * Corrects w->cfa, which a rule computed from sp with the return address at @ra_off, if the
 * instruction at the breakpoint has pushed a word already.
 */
WALK_FN int walk_emulated(__u32 which, __s32 ra_off)
{
	struct walk *w = walk_get(which);
	__u64 ra = 0;

	if (!w)
		return WALK_STOP;
	if (!stack_word(w, w->cfa + ra_off, &ra) && walk_is_return(which, ra) != WALK_CONTINUE &&
	    !stack_word(w, w->cfa + 8 + ra_off, &ra) && walk_is_return(which, ra) == WALK_CONTINUE)
		w->cfa += 8;
	return WALK_CONTINUE;
}
