/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Calls by which compiled methods and stubs move rsp. A stub without a frame size has pushed what
 * it saves, any number of words: the call that led to it is the one whose target is in its code. C1
 * pushes two words for its slow subtype check and pops them after the call, so the frame is larger
 * in between:
 *
 *	push %rdi; push %rsi; call stub; pop %rdi; pop %rdi
 */
#include "bpf/lib/calls.h"

enum {
	JVM_SAVED_WORDS = 24, /* words that a stub may have pushed */
	JVM_CALL_BYTES = 5,
	JVM_AROUND = 16, /* bytes of code that are read before the pc, and as many after it */
	X86_PUSH = 0x50,
	X86_POP = 0x58,
	/* bytes that a call in a code heap reaches at most */
	JVM_CALL_REACH = 1u << 31,
};

/* The length of the push or pop at byte @i of w->code; 0 if there is none. */
static __always_inline __u32 jvm_is_stack_op(const struct walk *w, __u32 i, __u8 op)
{
	if ((code_byte(w, i) & 0xf8) == op)
		return 1;
	return code_byte(w, i) == 0x41 && (code_byte(w, i + 1) & 0xf8) == op ? 2 : 0;
}

/* True if there are two pops at byte @i. */
static __always_inline int jvm_pops_two(const struct walk *w, __u32 i)
{
	__u32 n = jvm_is_stack_op(w, i, X86_POP);

	return n && jvm_is_stack_op(w, i + n, X86_POP);
}

/*
 * The number of bytes that are pushed around such a call of a running compiled method, whose code
 * is in w->code.
 */
static __always_inline __u32 jvm_pushed_at(const struct walk *w)
{
	const __u32 at = JVM_AROUND, call = JVM_CALL_BYTES;
	__u32 n = jvm_is_stack_op(w, at, X86_PUSH);

	if (n && code_byte(w, at + n) == 0xe8 && jvm_pops_two(w, at + n + call))
		return 8;
	if (code_byte(w, at) == 0xe8 && jvm_pops_two(w, at + call))
		return 16;
	if (!jvm_is_stack_op(w, at, X86_POP))
		return 0;
	if (code_byte(w, at - call) == 0xe8 && jvm_pops_two(w, at))
		return 16;
	for (n = 1; n <= 2; n++)
		if (jvm_is_stack_op(w, at - n, X86_POP) == n && code_byte(w, at - n - call) == 0xe8)
			return 8;
	return 0;
}

/* The target of the call that returns to @ra, if the instruction contains it; else 0. */
static __always_inline __u64 jvm_call_target(struct walk *w, __u64 ra)
{
	/* the target is near, unlike most other words of the stack */
	if (ra - w->regs[UREG_PC] + JVM_CALL_REACH >= 2ULL * JVM_CALL_REACH ||
	    read_user(w->code, 16, ra - 16))
		return 0;
	if (code_byte(w, 11) == 0xe8)
		return ra + (__u64)(__s64)(__s32)(w->code[1] >> 32);
	/* mov imm64, %r10; call *%r10 */
	if (code_byte(w, 3) == 0x49 && code_byte(w, 4) == 0xba && code_byte(w, 13) == 0x41 &&
	    code_byte(w, 14) == 0xff && code_byte(w, 15) == 0xd2)
		return w->code[0] >> 40 | w->code[1] << 24;
	return 0;
}
