/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Recognizes return addresses by the instruction before them, and stacks that end at a return
 * address of zero.
 */
#include "bpf/arch/code.h"
#include "bpf/lib/walk_memory.h"

/* Byte @i of w->code. */
static __always_inline __u8 code_byte(const struct walk *w, __u32 i)
{
	return w->code[(i >> 3) & 7] >> ((i & 7) * 8);
}

/*
 * WALK_CONTINUE if @at is mapped and a call instruction ends there, so that a call may return to
 * it.
 */
WALK_FN int walk_is_return(__u32 which, __u64 at)
{
	struct walk *w = walk_get(which);

	at = code_address(at);
	if (!w || !at || mapping_find(w, at - 1))
		return WALK_STOP;
	if (w->mapping.kind & MAPPING_ENTERED_BY_JUMP)
		return WALK_CONTINUE;
	if (read_user(w->code, 8, at - 8))
		return WALK_STOP;
	return arch_is_call(w->code[0]) ? WALK_CONTINUE : WALK_STOP;
}

enum { ROOT_WORDS = 128 }; /* words of the stack above a return address of zero that are checked */

/* WALK_CONTINUE if the word of the stack at @at is a return address, -1 if it cannot be read. */
WALK_FN int walk_is_return_at(__u32 which, __u64 at)
{
	struct walk *w = walk_get(which);
	__u64 word = 0;

	if (!w || stack_word(w, at, &word))
		return -1;
	return walk_is_return(which, word);
}

/*
 * Ends the walk at a return address or a frame pointer of zero. Code that is known to be outermost
 * has the rule UNWIND_CFA_END; stacks that programs set up themselves (coroutines) mark their
 * bottom with a zero. But a wrong rule may read a zero, too: CFI that does not count a push
 * (LuaJIT), or an epilogue that moves to another frame (libgcc's _Unwind_RaiseException). There the
 * stack continues, so one of the next words is the return address of a real caller, and the walk
 * ends with an error.
 */
WALK_FN int walk_root(__u32 which)
{
	struct walk *w = walk_get(which);
	__u64 at;

	if (!w)
		return WALK_STOP;
	at = w->regs[UREG_SP];
	for (int i = 0; i < ROOT_WORDS; i++, at += 8) {
		int r = walk_is_return_at(which, at);

		if (r < 0)
			break;
		if (r == WALK_CONTINUE)
			return walk_fail(w, WALK_ERR_IMPLAUSIBLE_ROOT);
	}
	return walk_done(w);
}
