/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bpf/lib/walk_memory.h"

static __always_inline void toy_walk_begin(struct walk *w)
{
	w->lang.toy.n_frames = 0;
}

/* Pushes the frame at the pc, known by the 64 bytes of code that it is in, and leaves it. */
WALK_FN int toy_leave(__u32 which)
{
	struct walk *w = walk_get(which);
	const struct toy_vm *toy;
	__u64 head, sp, ra = 0;

	if (!w)
		return WALK_STOP;
	toy = toy_get(MAPPING_LANG_VM(w->mapping.file));
	if (!toy)
		return WALK_STOP;
	head = VM_FRAME_WORD(0, MAPPING_LANG_VM(w->mapping.file), w->regs[UREG_PC] & ~63ULL);
	w->n_second_words++;
	walk_push(w, head);
	walk_push(w, VM_PLACE_WORD(w->lang.toy.n_frames++, 1));
	sp = w->regs[UREG_SP] + toy->frame_bytes;
	if (stack_word(w, sp - 8, &ra))
		return walk_fail(w, WALK_ERR_STACK_READ);
	return walk_to_caller(w, ra, sp, w->regs[UREG_FP], w->regs[UREG_AUX]);
}

static __always_inline int toy_step_generated(struct walk *w, __u32 which, __u32 slot)
{
	return toy_leave(which);
}

static __always_inline int toy_step_file(__u32 which, __u32 slot, __u64 word)
{
	return WALK_OTHER;
}

static __always_inline void toy_push_marker(struct walk *w, __u32 slot)
{
}
