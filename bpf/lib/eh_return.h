/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * The callers of functions that return to an exception handler (GCC's __builtin_eh_return(), in
 * libgcc's _Unwind_RaiseException() and its siblings). Before such a function leaves, it overwrites
 * its own frame with the registers of the handler's frame (uw_install_context_1() in
 * libgcc/unwind-dw2.c), the return address included: that slot then holds the return address of the
 * handler's function, which is wrong for the CFA of this frame. From then on the handler's frame is
 * the caller, and all frames in between have been discarded.
 *
 * The frame of the handler is described in this frame, by a struct _Unwind_Context: where each
 * register is saved, the CFA, and the address at which it continues. It is recognized by a relation
 * that it must satisfy, that the return address is saved right below the CFA, and it is used only
 * if its saved return address is the one that this frame has now.
 */
#include "bpf/lib/calls.h"

enum { EH_FRAME_WORDS = 128 }; /* words of the frame that are searched; libgcc's have 70 */

/*
 * WALK_CONTINUE and w->handler if the context of a handler to which the current frame returns, at
 * @ra, has the slot of its return address (DWARF column 16) at @at; WALK_STOP if the stack cannot
 * be read there, or at the frame's end; else WALK_OTHER. In a context, that slot, an unused slot,
 * the CFA and the address of the code are consecutive. This is a global function because the
 * verifier would otherwise check it in each turn of the loop, which was half of its work on a walk.
 */
WALK_FN int walk_is_handler(__u32 which, __u64 at, __u64 ra)
{
	struct walk *w = walk_get(which);
	__u64 slot = 0, cfa = 0, saved = 0;

	if (!w || at + 16 >= w->cfa || stack_word(w, at, &slot) || stack_word(w, at + 16, &cfa))
		return WALK_STOP;
	if (cfa <= w->cfa || cfa != slot + 8 || read_user(&saved, sizeof(saved), slot) ||
	    saved != ra)
		return WALK_OTHER;
	w->handler.cfa = cfa;
	return stack_word(w, at + 24, &w->handler.pc) ? WALK_STOP : WALK_CONTINUE;
}

/*
 * Searches the current frame, whose CFA is w->cfa and whose return address is @ra, for the context
 * of a handler that it returns to. Returns WALK_CONTINUE and w->handler, or WALK_STOP.
 */
WALK_FN int walk_find_handler(__u32 which, __u64 ra)
{
	struct walk *w = walk_get(which);
	__u64 at;

	if (!w)
		return WALK_STOP;
	at = w->regs[UREG_SP];
	for (int i = 0; i < EH_FRAME_WORDS; i++, at += 8) {
		int r = walk_is_handler(which, at, ra);

		if (r != WALK_OTHER)
			return r;
	}
	return WALK_STOP;
}
