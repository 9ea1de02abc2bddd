/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * The callers of functions that return to an exception handler (GCC's __builtin_eh_return(), in
 * libgcc's _Unwind_RaiseException() and its siblings). Before such a function leaves, it overwrites
 * its own frame with the registers of the handler's frame (uw_install_context_1() in
 * libgcc/unwind-dw2.c), the return address included: that slot then holds the return address of the
 * handler's function, which is wrong for the CFA of this frame. From that moment on the frame of
 * the handler is the caller, and everything in between is discarded.
 *
 * The frame of the handler is described in this frame, by a struct _Unwind_Context: where each
 * register is saved, the CFA, and the address at which it continues. It is recognized by a relation
 * that it must satisfy, that the return address is saved right below the CFA, and it is used only
 * if its saved return address is the one that this frame has now.
 */
#include "bpf/lib/calls.h"

enum { EH_FRAME_WORDS = 128 }; /* words of the frame that are searched; libgcc's have 70 */

/*
 * True if @slot and @cfa are of the context of the handler. In the context the slot of the return
 * address (DWARF column 16), an unused slot, the CFA and the address of the code are consecutive.
 */
static __always_inline int is_handler_context(const struct walk *w, __u64 slot, __u64 cfa, __u64 ra)
{
	__u64 saved = 0;

	return cfa > w->cfa && cfa == slot + 8 && !read_user(&saved, sizeof(saved), slot) &&
	       saved == ra;
}

/*
 * Searches the current frame, whose CFA is w->cfa and whose return address is @ra, for the context
 * of a handler that it returns to. Returns WALK_CONTINUE and w->handler, or WALK_STOP.
 */
WALK_FN int walk_find_handler(__u32 which, __u64 ra)
{
	struct walk *w = walk_get(which);
	__u64 at, word = 0, before = 0, slot = 0;

	if (!w)
		return WALK_STOP;
	at = w->regs[UREG_SP];
	for (int i = 0; i < EH_FRAME_WORDS; i++, at += 8) {
		if (at >= w->cfa || stack_word(w, at, &word))
			return WALK_STOP;
		if (is_handler_context(w, slot, word, ra)) {
			w->handler.cfa = word;
			return stack_word(w, at + 8, &w->handler.pc) ? WALK_STOP : WALK_CONTINUE;
		}
		slot = before;
		before = word;
	}
	return WALK_STOP;
}
