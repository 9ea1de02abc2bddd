/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Frames of methods that C1 and C2 compiled. They have a fixed size, which the blob's head gives,
 * once the prologue is done (at frame_complete) and until the epilogue begins. In between the
 * instructions at the pc show which part of the frame exists. The forms were read from JDK 8 to 26:
 * x86.ad, macroAssembler_x86.cpp (verified_entry) and c1_MacroAssembler_x86.cpp (build_frame).
 */
#include "bpf/lib/lang/jvm_call.h"
#include "bpf/lib/lang/jvm_frame.h"

enum {
	JVM_PUSHED_MAX = 256,  /* bytes that may have been pushed below a compiled method's frame */
	JVM_PROLOGUE_MAX = 32, /* bytes of code that are read */
};

/*
 * The length of an instruction that may precede the prologue, at byte @i: a stack bang or a nop; 0
 * if there is none.
 */
static __always_inline __u32 jvm_before_prologue(const struct walk *w, __u32 i)
{
	/* mov %eax, disp32(%rsp): the stack bang, which touches the end of the stack */
	if (code_byte(w, i) == 0x89 && code_byte(w, i + 1) == 0x84 && code_byte(w, i + 2) == 0x24)
		return 7;
	if (code_byte(w, i) == 0x0f && code_byte(w, i + 1) == 0x1f)
		return code_byte(w, i + 2) == 0x44 ? 5 : 4;
	if (code_byte(w, i) == 0x66 && code_byte(w, i + 1) == 0x90)
		return 2;
	return code_byte(w, i) == 0x90;
}

static __always_inline __u32 jvm_sub_rsp(const struct walk *w, __u32 i)
{
	if (code_byte(w, i) != 0x48 || code_byte(w, i + 2) != 0xec)
		return 0;
	return code_byte(w, i + 1) == 0x83 ? 4 : code_byte(w, i + 1) == 0x81 ? 7 : 0;
}

/*
 * The number of bytes of the frame of @size that have been built @off bytes after the method's
 * entry, whose code is in w->code. Two forms: push rbp, (mov rsp, rbp), sub rsp; or sub rsp, mov
 * rbp to its slot.
 */
static __always_inline __u64 jvm_in_prologue(const struct walk *w, __u64 off, __u64 size)
{
	__u32 i = jvm_before_prologue(w, 0);

	i += jvm_before_prologue(w, i);
	if (off <= i)
		return 8;
	if (code_byte(w, i) == 0x55) {
		i++;
		if (code_byte(w, i) == 0x48 &&
		    (code_byte(w, i + 1) == 0x8b || code_byte(w, i + 1) == 0x89))
			i += 3;
		return off < i + jvm_sub_rsp(w, i) ? 16 : size;
	}
	if (!jvm_sub_rsp(w, i))
		return size;
	i += jvm_sub_rsp(w, i);
	if (off < i)
		return 8;
	/* mov %rbp, disp(%rsp) */
	if (code_byte(w, i) == 0x48 && code_byte(w, i + 1) == 0x89 &&
	    off < i + (code_byte(w, i + 2) == 0x6c ? 5 : 8))
		return size | JVM_RBP_KEPT;
	return size;
}

/*
 * The number of bytes of the frame of @size that exist in an epilogue at the pc, whose code is in
 * w->code: pop rbp, (safepoint poll), ret. Returns @size outside of an epilogue.
 */
static __always_inline __u64 jvm_in_epilogue(const struct walk *w, __u64 size)
{
	if (code_byte(w, 0) == 0x5d)
		return 16;
	if (code_byte(w, 0) == 0xc3)
		return 8;
	/* cmp poll(%r15), %rsp; ja; ret */
	if (code_byte(w, 0) == 0x49 && code_byte(w, 1) == 0x3b &&
	    (code_byte(w, 2) == 0xa7 || code_byte(w, 2) == 0x67))
		return 8;
	if (code_byte(w, 0) == 0x0f && code_byte(w, 1) == 0x87 && code_byte(w, 6) == 0xc3)
		return 8;
	/* test %eax, poll(%rip); ret. mov poll(%r15), %r10; test %eax, (%r10); ret */
	if (code_byte(w, 0) == 0x85 && code_byte(w, 1) == 0x05 && code_byte(w, 6) == 0xc3)
		return 8;
	if (code_byte(w, 0) == 0x41 && code_byte(w, 1) == 0x85 && code_byte(w, 3) == 0xc3)
		return 8;
	if (code_byte(w, 0) == 0x4d && code_byte(w, 1) == 0x8b && code_byte(w, 7) == 0x41 &&
	    code_byte(w, 8) == 0x85 && code_byte(w, 10) == 0xc3)
		return 8;
	return size;
}

/*
 * True if a string search is near the pc, that is, the instruction pcmpestri (66 0f 3a 61, or c4 e3
 * 79 61).
 */
static __always_inline int jvm_in_string_search(struct walk *w)
{
	if (read_user(w->code, sizeof(w->code), w->regs[UREG_PC] - sizeof(w->code) / 2))
		return 0;
	for (__u32 i = 0; i < sizeof(w->code) - 2; i++) {
		__u32 bytes = code_byte(w, i) | (__u32)code_byte(w, i + 1) << 8 |
			      (__u32)code_byte(w, i + 2) << 16;

		if (bytes == 0x613a0f || bytes == 0x6179e3)
			return 1;
	}
	return 0;
}

/* Removes what a compiled method has pushed around a call, if its code shows that. */
static __always_inline void jvm_pop_arguments(struct walk *w)
{
	if (!read_user(w->code, 2 * JVM_AROUND, w->regs[UREG_PC] - JVM_AROUND))
		w->regs[UREG_SP] += jvm_pushed_at(w);
}

/* Restores the frame's rsp, which inlined string searches push after their other operands. */
WALK_FN int jvm_old_sp(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_JVM, which);
	__u64 sp, ra = 0, old = 0;

	if (!w)
		return WALK_STOP;
	sp = w->regs[UREG_SP];
	if (!stack_word(w, sp, &old) && old > sp && old - sp <= JVM_PUSHED_MAX && !(old & 7) &&
	    !stack_word(w, old + (w->lang.jvm.frame_bytes & ~7ULL) - 8, &ra) &&
	    jvm_in_string_search(w) && walk_is_return(which, ra) == WALK_CONTINUE)
		w->regs[UREG_SP] = old;
	else
		jvm_pop_arguments(w);
	return JVM_NEXT_RETURN;
}

/* A compiled method that is running: finds out how much of its frame exists. */
WALK_FN int jvm_leaf(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_JVM, which);
	const struct jvm_vm *vm;
	__u64 pc, entry, size;

	if (!w)
		return WALK_STOP;
	vm = jvm_get(MAPPING_LANG_VM(w->mapping.file));
	if (!vm)
		return WALK_STOP;
	size = w->lang.jvm.frame_bytes;
	pc = w->regs[UREG_PC];
	entry = jvm_address(w, vm, vm->entry);
	if ((__s64)(pc - jvm_code_begin(w, vm)) < (__s64)jvm_field(w, vm->frame_complete)) {
		if (pc <= entry)
			size = 8;
		else if (pc - entry < JVM_PROLOGUE_MAX &&
			 !read_user(w->code, JVM_PROLOGUE_MAX, entry))
			size = jvm_in_prologue(w, pc - entry, size);
	} else if (!read_user(w->code, 16, pc)) {
		size = jvm_in_epilogue(w, size);
		if (size == w->lang.jvm.frame_bytes)
			return JVM_NEXT_OLD_SP;
	}
	w->lang.jvm.frame_bytes = size;
	return JVM_NEXT_RETURN;
}

static __always_inline int jvm_compiled(struct walk *w, const struct jvm_vm *vm)
{
	__u64 pc = w->regs[UREG_PC], size = jvm_field(w, vm->frame_size) * 8;
	__u32 cookie;

	cookie = jvm_cookie(w, vm);
	if (size < 8 || size > JVM_FRAME_MAX)
		size = 8;
	w->lang.jvm.frame_bytes = size;
	if (!w->is_call) {
		jvm_push(w, JVM_COMPILED_LEAF, w->lang.jvm.blob_at, pc - jvm_code_begin(w, vm),
			 cookie);
		return JVM_NEXT_LEAF;
	}
	/* The frame is marked for deoptimization: it holds the original return address. */
	if (pc == jvm_address(w, vm, vm->deopt[0]) || pc == jvm_address(w, vm, vm->deopt[1]))
		(void)stack_word(w, w->regs[UREG_SP] + jvm_field(w, vm->orig_pc), &pc);
	jvm_push(w, JVM_COMPILED, w->lang.jvm.blob_at, pc - jvm_code_begin(w, vm), cookie);
	return JVM_NEXT_RETURN;
}
