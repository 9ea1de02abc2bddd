/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Frames of virtual threads in the Java heap (JDK 21 on). A virtual thread that continues after it
 * was unmounted has only its innermost frames on the stack. The others remain in the chunks where
 * they were saved (jdk.internal.vm.StackChunk). The return address of the outermost frame on the
 * stack leads to a stub that restores the next ones from the heap. Their layout is that of frames
 * on the stack, except that rbp and the caller's rsp of an interpreted frame are stored as
 * distances in words. While the walk is in a chunk, rbp of w->regs is the address where the callee
 * has saved it.
 */
#include "bpf/lib/walk_memory.h"

enum {
	JVM_ENTRY_CONTINUATION = 16, /* offset in the ContinuationEntry at the stub's rsp */
	JVM_CHUNK_WORDS_MAX = 1 << 22,
	JVM_CHUNK_LINK = 16, /* bytes below a frame, where its callee has saved rbp */
};

/*
 * Removes the colour of a reference of generational ZGC: one of the bits 12 to 15 is set, and the
 * address begins in the bit above it (zAddress_x86.hpp).
 */
static __always_inline __u64 jvm_uncolored(__u64 v)
{
	switch (v >> 12 & 15) {
	case 1:
		return v >> 13;
	case 2:
		return v >> 14;
	case 4:
		return v >> 15;
	case 8:
		return v >> 16;
	default:
		return 0;
	}
}

/* The object to which the reference at @at leads; 0 if there is none. */
static __always_inline __u64 jvm_reference(const struct jvm_vm *vm, __u64 at)
{
	__u32 narrow = 0;
	__u64 v = 0;

	if (vm->ref_kind == JVM_REF_NARROW) {
		if (read_user(&narrow, sizeof(narrow), at) || !narrow)
			return 0;
		return vm->ref_base + ((__u64)narrow << (vm->ref_shift & 31));
	}
	if (read_user(&v, sizeof(v), at))
		return 0;
	return vm->ref_kind == JVM_REF_COLORED ? jvm_uncolored(v) : v;
}

/*
 * The next chunk: the continuation's last one, or the parent of the current one; 0 if there is
 * none.
 */
static __always_inline __u64 jvm_next_chunk(struct walk *w, const struct jvm_vm *vm)
{
	__u64 continuation = 0;

	if (w->lang.jvm.chunk)
		return jvm_reference(vm, w->lang.jvm.chunk + vm->chunk_parent);
	if (stack_word(w, w->regs[UREG_SP] + JVM_ENTRY_CONTINUATION, &continuation) ||
	    !continuation)
		return 0;
	return jvm_reference(vm, continuation + vm->tail);
}

/* True if the chunk has no frame after the one that ends at @sp. */
static __always_inline int jvm_chunk_ends(const struct walk *w, __u64 sp)
{
	return w->lang.jvm.chunk_end && sp + JVM_CHUNK_LINK >= w->lang.jvm.chunk_end;
}

/*
 * Moves to the innermost frame in the heap. Returns WALK_CONTINUE, or WALK_STOP if it was not
 * found.
 */
WALK_FN int jvm_enter_chunk(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_JVM, which);
	const struct jvm_vm *vm;
	__u32 sp = 0, size = 0, bottom = 0, end = 0;
	__u64 chunk, at, pc = 0;

	if (!w)
		return WALK_STOP;
	vm = jvm_get(MAPPING_LANG_VM(w->mapping.file));
	if (!vm || !vm->chunk_stack || w->lang.jvm.chunk_end)
		return WALK_STOP;
	chunk = jvm_next_chunk(w, vm);
	/* The last chunk may be empty. The arguments of its outermost frame may still be in it. */
	for (int i = 0; i < 2 && chunk && sp >= end; i++) {
		if (i)
			chunk = jvm_reference(vm, chunk + vm->chunk_parent);
		if (read_user(&sp, sizeof(sp), chunk + vm->chunk_sp) ||
		    read_user(&size, sizeof(size), chunk + vm->chunk_size) ||
		    read_user(&bottom, sizeof(bottom), chunk + vm->chunk_bottom) ||
		    read_user(&pc, sizeof(pc), chunk + vm->chunk_pc) ||
		    size > JVM_CHUNK_WORDS_MAX || bottom > size)
			return WALK_STOP;
		end = vm->chunk_args ? size - bottom : bottom;
	}
	if (!chunk || sp >= end || !pc)
		return WALK_STOP;
	at = chunk + vm->chunk_stack;
	w->lang.jvm.chunk = chunk;
	w->lang.jvm.chunk_end = at + end * 8ULL;
	w->lang.jvm.chunk_return = w->regs[UREG_SP];
	at += sp * 8ULL;
	return walk_to_caller(w, pc, at, at - JVM_CHUNK_LINK, w->regs[UREG_AUX]);
}

/* Reads an address that is stored at @at as a distance from there in words. Returns 0 or -1. */
static __always_inline int jvm_relative(struct walk *w, __u64 at, __u64 *out)
{
	__u64 words = 0;

	if (stack_word(w, at, &words))
		return -1;
	*out = at + words * 8;
	return 0;
}

/*
 * Leaves the outermost chunk: the method that entered the continuation, a native one with a frame
 * on the thread's own stack, is the caller. Its frame is a ContinuationEntry, to which rsp points.
 */
static __always_inline int jvm_leave_continuation(struct walk *w, const struct jvm_vm *vm)
{
	__u64 pc = 0;

	if (!vm || !vm->entry_pc ||
	    read_user(&pc, sizeof(pc), vm->entry_pc + w->process.reporting_bias) || !pc)
		return WALK_STOP;
	return walk_to_caller(w, pc, w->lang.jvm.chunk_return, 0, w->regs[UREG_AUX]);
}

/* Leaves a chunk: continues in the next one, or on the thread's own stack. */
static __always_inline int jvm_leave_chunk(struct walk *w, __u32 which)
{
	w->regs[UREG_SP] = w->lang.jvm.chunk_return;
	w->lang.jvm.chunk_end = 0;
	if (jvm_enter_chunk(which) == WALK_CONTINUE)
		return WALK_CONTINUE;
	return jvm_leave_continuation(w, jvm_get(MAPPING_LANG_VM(w->mapping.file)));
}
