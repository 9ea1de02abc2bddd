/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/* Leaves a frame of HotSpot's code by its size, or by searching the stack for a return address. */
#include "bpf/lib/calls.h"
#include "bpf/lib/lang/jvm_blob.h"
#include "bpf/lib/lang/jvm_chunk.h"

enum {
	JVM_SEARCH_WORDS = 64, /* words of stack that are searched for a return address */
	JVM_FRAME_MAX = 1 << 20,
	JVM_RBP_KEPT = 1, /* flag in a frame's size: rbp has not been saved yet */
};

/* The next step; values follow those of enum walk_step_result. */
enum jvm_next {
	JVM_NEXT_STUB = 16,
	JVM_NEXT_INTERPRETED,
	JVM_NEXT_LEAF,   /* find out how much of the frame exists */
	JVM_NEXT_OLD_SP, /* find out if something was pushed below the frame */
	JVM_NEXT_RETURN, /* leave the frame of w->lang.jvm.frame_bytes bytes */
	JVM_NEXT_SEARCH, /* there is no return address where it should be */
	JVM_NEXT_CHUNK,  /* the frame was the last of its chunk */
	JVM_NEXT_CALLED, /* a stub that is running: find the call that leads into it */
	JVM_NEXT_STUB_FRAME,
};

/* Continues at the first return address up the stack. */
WALK_FN int jvm_search(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_JVM, which);
	__u64 sp, ra = 0, rbp = 0;

	if (!w)
		return WALK_STOP;
	/* chunks in the heap may have moved */
	if (w->lang.jvm.chunk_end)
		return walk_fail(w, WALK_ERR_NO_RULE);
	sp = w->regs[UREG_SP] & ~7ULL;
	for (int i = 0; i < JVM_SEARCH_WORDS; i++) {
		rbp = i ? ra : w->regs[UREG_FP];
		if (stack_word(w, sp, &ra))
			return walk_fail(w, WALK_ERR_STACK_READ);
		sp += 8;
		if (walk_is_return(which, ra) != WALK_CONTINUE)
			continue;
		walk_searched(w);
		return walk_to_caller(w, ra, sp, rbp, w->regs[UREG_AUX]);
	}
	return walk_fail(w, WALK_ERR_NO_RULE);
}

/* Leaves the frame: its highest words are the saved rbp and the return address. */
WALK_FN int jvm_return(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_JVM, which);
	__u64 sp, rbp, size, ra = 0;

	if (!w)
		return WALK_STOP;
	size = w->lang.jvm.frame_bytes;
	rbp = w->regs[UREG_FP];
	sp = w->regs[UREG_SP] + (size & ~7ULL);
	if (jvm_chunk_ends(w, sp))
		return JVM_NEXT_CHUNK;
	if ((size >= 16 && !(size & JVM_RBP_KEPT) && stack_word(w, sp - 16, &rbp)) ||
	    stack_word(w, sp - 8, &ra))
		return walk_fail(w, WALK_ERR_STACK_READ);
	if (!ra || mapping_find(w, ra - 1))
		return JVM_NEXT_SEARCH;
	return walk_to_caller(w, ra, sp, w->lang.jvm.chunk_end ? sp - JVM_CHUNK_LINK : rbp,
			      w->regs[UREG_AUX]);
}
