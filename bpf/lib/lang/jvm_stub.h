/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Frames of HotSpot's stubs: code in its heaps that is not a method. Some have a frame size, some a
 * frame pointer, and some push any number of words without a frame.
 */
#include "bpf/lib/lang/jvm_call.h"
#include "bpf/lib/lang/jvm_frame.h"

/* Leaves a stub without a frame size by rbp. Returns -1 if rbp leads to no frame. */
static __always_inline int jvm_stub_rbp(struct walk *w, __u32 which)
{
	__u64 rbp = w->regs[UREG_FP], next = 0, ra = 0;

	if (rbp < w->regs[UREG_SP] || rbp - w->regs[UREG_SP] > JVM_FRAME_MAX || (rbp & 7) ||
	    stack_word(w, rbp, &next))
		return -1;
	/* a word may have been pushed above it (method_entry_barrier) */
	for (int i = 0; i < 2; i++) {
		rbp += 8;
		if (!stack_word(w, rbp, &ra) && walk_is_return(which, ra) == WALK_CONTINUE)
			return walk_to_caller(w, ra, rbp + 8, next, w->regs[UREG_AUX]);
	}
	return -1;
}

/* Pushes the stub's frame. */
WALK_FN int jvm_stub(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_JVM, which);
	const struct jvm_vm *vm;
	__u64 off;
	int in_heap;

	if (!w)
		return WALK_STOP;
	vm = jvm_get(MAPPING_LANG_VM(w->mapping.file));
	if (!vm)
		return WALK_STOP;
	/* Code to which nothing returns by a call restores frames that are in the heap. */
	in_heap = w->is_call && walk_is_return(which, w->regs[UREG_PC]) != WALK_CONTINUE;
	if (in_heap && jvm_enter_chunk(which) == WALK_CONTINUE)
		return WALK_CONTINUE;
	off = w->regs[UREG_PC] - w->is_call - jvm_code_begin(w, vm);
	jvm_push(w, JVM_STUB, w->lang.jvm.blob_at,
		 (off & (JVM_STUB_IN_HEAP - 1)) | (in_heap ? JVM_STUB_IN_HEAP : 0),
		 vm_cookie(jvm_field(w, vm->name)));
	w->lang.jvm.frame_bytes = jvm_field(w, vm->frame_size) * 8;
	return w->is_call ? JVM_NEXT_STUB_FRAME : JVM_NEXT_CALLED;
}

/* Leaves the running stub by the call that leads into its code, if the stack shows it. */
WALK_FN int jvm_leave_called(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_JVM, which);
	const struct jvm_vm *vm;
	__u64 sp, begin, ra, target;

	if (!w)
		return WALK_STOP;
	vm = jvm_get(MAPPING_LANG_VM(w->mapping.file));
	if (!vm)
		return WALK_STOP;
	begin = jvm_code_begin(w, vm);
	sp = w->regs[UREG_SP];
	for (__u32 i = 0; i < JVM_SAVED_WORDS && !(sp & 7); i++, sp += 8) {
		ra = 0;
		if (stack_word(w, sp, &ra))
			break;
		target = jvm_call_target(w, ra);
		if (target < begin || target > w->regs[UREG_PC] || !walk_is_mapped(which, ra - 1))
			continue;
		/* the routine may have pushed rbp first */
		if (i && !read_user(w->code, 8, target) && code_byte(w, 0) == 0x55 &&
		    stack_word(w, sp - 8, &w->regs[UREG_FP]))
			break;
		if (!read_user(w->code, 8, ra) && jvm_pops_two(w, 0))
			sp += 16;
		walk_searched(w);
		return walk_to_caller(w, ra, sp + 8, w->regs[UREG_FP], w->regs[UREG_AUX]);
	}
	return JVM_NEXT_STUB_FRAME;
}

WALK_FN int jvm_leave_stub(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_JVM, which);
	__u64 ra = 0;
	int r;

	if (!w)
		return WALK_STOP;
	if (w->lang.jvm.frame_bytes >= 8 && w->lang.jvm.frame_bytes <= JVM_FRAME_MAX) {
		if (w->is_call)
			return JVM_NEXT_RETURN;
		if (!stack_word(w, w->regs[UREG_SP] + w->lang.jvm.frame_bytes - 8, &ra) &&
		    walk_is_return(which, ra) == WALK_CONTINUE)
			return JVM_NEXT_RETURN;
	}
	/* a leaf without a frame, or one with a frame pointer */
	if (!w->is_call && !stack_word(w, w->regs[UREG_SP], &ra) &&
	    walk_is_return(which, ra) == WALK_CONTINUE) {
		w->lang.jvm.frame_bytes = 8;
		return JVM_NEXT_RETURN;
	}
	r = jvm_stub_rbp(w, which);
	return r >= 0 ? r : JVM_NEXT_SEARCH;
}
