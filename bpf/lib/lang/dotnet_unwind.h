/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Leaves a frame by the function's UNWIND_INFO, which CoreCLR has on all systems in the form that
 * Windows defines for x64: codes that undo the prologue's instructions, the last one first. A leaf
 * may not have executed all of them; whether it is in an epilogue the instructions at the pc show.
 * Optimized functions have no frame pointer.
 */
#include "bpf/lib/calls.h"
#include "bpf/lib/lang/dotnet_range.h"

enum {
	DOTNET_CODES_MAX = 30, /* slots of 2 bytes: as many as w->code holds */
	DOTNET_CODES_AT = 4,   /* bytes before them */
	DOTNET_CHAIN_MAX = 4,
	DOTNET_FLAG_CHAINED = 4 << 3,
	DOTNET_EPILOGUE_MAX = 10, /* instructions */
	DOTNET_EPILOGUE_BYTES = 48,
	DOTNET_FRAME_MAX = 16 << 20,
	/* Windows' numbers of registers */
	DOTNET_RBX = 3,
	DOTNET_RBP = 5,
	/* operations */
	DOTNET_PUSH = 0,
	DOTNET_ALLOC_LARGE = 1,
	DOTNET_ALLOC_SMALL = 2,
	DOTNET_SET_FRAME = 3,
	DOTNET_SAVE = 4,
	DOTNET_SAVE_FAR = 5,
	DOTNET_SAVE_XMM = 8,
	DOTNET_SAVE_XMM_FAR = 9,
	DOTNET_SET_FRAME_LARGE = 11, /* only outside of Windows */
};

/* The 4 bytes of w->code at byte @i. */
static __always_inline __u32 dotnet_operand(const struct walk *w, __u32 i, __u32 n)
{
	__u32 v = code_byte(w, i) | code_byte(w, i + 1) << 8;

	return n < 4 ? v : v | code_byte(w, i + 2) << 16 | (__u32)code_byte(w, i + 3) << 24;
}

/* A register was saved at @at. Returns 0 or -1. */
static __always_inline int dotnet_restore(struct walk *w, __u32 reg, __u64 at)
{
	if (reg == DOTNET_RBP)
		return stack_word(w, at, &w->lang.dotnet.rbp);
	return reg == DOTNET_RBX ? stack_word(w, at, &w->lang.dotnet.rbx) : 0;
}

/* Applies the operation @op with @info, whose operand is at byte @i. Returns 0 or -1. */
static __always_inline int dotnet_apply(struct walk *w, __u32 op, __u32 info, __u32 i)
{
	struct dotnet_walk *d = &w->lang.dotnet;

	switch (op) {
	case DOTNET_PUSH:
		d->sp += 8;
		return dotnet_restore(w, info, d->sp - 8);
	case DOTNET_ALLOC_SMALL:
		d->sp += info * 8 + 8;
		return 0;
	case DOTNET_ALLOC_LARGE:
		d->sp += info ? dotnet_operand(w, i, 4) : dotnet_operand(w, i, 2) * 8;
		return 0;
	case DOTNET_SET_FRAME:
		d->sp = d->base = w->regs[UREG_FP] - (code_byte(w, 3) >> 4) * 16;
		return 0;
	case DOTNET_SET_FRAME_LARGE:
		d->sp = d->base = w->regs[UREG_FP] - (__u64)dotnet_operand(w, i, 4) * 16;
		return 0;
	case DOTNET_SAVE:
		return dotnet_restore(w, info, d->base + dotnet_operand(w, i, 2) * 8);
	case DOTNET_SAVE_FAR:
		return dotnet_restore(w, info, d->base + dotnet_operand(w, i, 4));
	case DOTNET_SAVE_XMM:
	case DOTNET_SAVE_XMM_FAR:
		return 0;
	default:
		return -1;
	}
}

/* The slots that an operation has. */
static __always_inline __u32 dotnet_slots(__u32 op, __u32 info)
{
	switch (op) {
	case DOTNET_ALLOC_LARGE:
		return info ? 3 : 2;
	case DOTNET_SAVE:
	case DOTNET_SAVE_XMM:
		return 2;
	case DOTNET_SAVE_FAR:
	case DOTNET_SAVE_XMM_FAR:
	case DOTNET_SET_FRAME_LARGE:
		return 3;
	default:
		return 1;
	}
}

/*
 * Undoes the instruction of the code in slot @i. Returns the slots that it has; 0: it is unknown.
 */
WALK_FN int dotnet_undo(__u32 which, __u32 i)
{
	struct walk *w = lang_walk_get(LANG_DOTNET, which);
	__u32 at = DOTNET_CODES_AT + 2 * i, op, info;

	if (!w)
		return 0;
	op = code_byte(w, at + 1) & 0xf;
	info = code_byte(w, at + 1) >> 4;
	if (code_byte(w, at) <= w->lang.dotnet.offset && dotnet_apply(w, op, info, at + 2))
		return 0;
	return dotnet_slots(op, info);
}

/* Undoes all of one UNWIND_INFO. Returns DOTNET_NEXT_CODES if another continues it, or the next. */
WALK_FN int dotnet_undo_all(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_DOTNET, which);
	struct dotnet_walk *d;
	__u32 n, bytes, parent[3];
	__u8 flags;

	if (!w)
		return WALK_STOP;
	d = &w->lang.dotnet;
	if (read_user(w->code, DOTNET_CODES_AT, d->unwind))
		return DOTNET_NEXT_ABSENT;
	flags = code_byte(w, 0);
	n = code_byte(w, 2);
	bytes = bounded_here(DOTNET_CODES_AT + 2 * n);
	if ((flags & 7) > 2 || n > DOTNET_CODES_MAX || bytes > sizeof(w->code))
		return walk_fail(w, WALK_ERR_NO_RULE);
	if (n && read_user(w->code, bytes, d->unwind))
		return DOTNET_NEXT_ABSENT;
	for (__u32 i = 0, used = 0; i < DOTNET_CODES_MAX && used < n; i++) {
		int slots = dotnet_undo(which, used);

		if (slots <= 0)
			return walk_fail(w, WALK_ERR_NO_RULE);
		used += slots;
	}
	if (!(flags & DOTNET_FLAG_CHAINED))
		return DOTNET_NEXT_RETURN;
	if (read_user(parent, sizeof(parent), d->unwind + DOTNET_CODES_AT + 2 * ((n + 1) & ~1u)))
		return DOTNET_NEXT_ABSENT;
	d->unwind = d->range + parent[2];
	d->offset = ~0u;
	return DOTNET_NEXT_CODES;
}

/*
 * The length of the instruction at byte @i of w->code if it belongs to an epilogue: add to rsp,
 * lea from rbp, or a pop. Else 0.
 */
static __always_inline __u32 dotnet_epilogue_bytes(const struct walk *w, __u32 i)
{
	__u8 first = code_byte(w, i), second = code_byte(w, i + 1), third = code_byte(w, i + 2);

	if ((first & 0xf8) == 0x58)
		return 1;
	if (first == 0x41 && (second & 0xf8) == 0x58)
		return 2;
	if (first != 0x48)
		return 0;
	if (second == 0x83 || second == 0x8d)
		return third == 0xc4 || third == 0x65 ? 4 : second == 0x8d && third == 0xa5 ? 7 : 0;
	return second == 0x81 && third == 0xc4 ? 7 : 0;
}

/*
 * True if a function ends with the instruction at byte @i of w->code: a return, or a tail call if
 * instructions of an epilogue precede it.
 */
WALK_FN int dotnet_is_end(__u32 which, __u32 i)
{
	struct walk *w = lang_walk_get(LANG_DOTNET, which);
	__u8 first, second;

	if (!w)
		return 0;
	first = code_byte(w, i);
	second = code_byte(w, i + 1);
	if (first == 0xc3 || (first == 0xf3 && second == 0xc3))
		return 1;
	if (!i)
		return 0;
	return first == 0xe9 || first == 0xeb ||
	       (first == 0xff && (second == 0x25 || (second & 0xf8) == 0xe0)) ||
	       (first == 0x48 && second == 0xff && (code_byte(w, i + 2) & 0xf8) == 0xe0);
}

/*
 * Executes the instruction of an epilogue at byte @i of w->code. Returns its length; 0: it is
 * another instruction. A function, so that the verifier does not follow each sum of lengths.
 */
WALK_FN int dotnet_execute(__u32 which, __u32 i)
{
	struct walk *w = lang_walk_get(LANG_DOTNET, which);
	struct dotnet_walk *d;
	__u32 n;

	if (!w)
		return 0;
	d = &w->lang.dotnet;
	n = dotnet_epilogue_bytes(w, i);
	if (n == 1 || n == 2) {
		d->sp += 8;
		/* only without a prefix is it one of the two that are followed */
		if (n == 1 && dotnet_restore(w, code_byte(w, i) & 7, d->sp - 8))
			return 0;
	} else if (n) {
		__s64 by = n == 4 ? (__s8)code_byte(w, i + 3) : (__s32)dotnet_operand(w, i + 3, 4);

		d->sp = (code_byte(w, i + 1) == 0x8d ? d->rbp : d->sp) + by;
	}
	return n;
}

/* Starts with the registers of the frame. */
static __always_inline void dotnet_load(struct walk *w)
{
	w->lang.dotnet.sp = w->lang.dotnet.base = w->regs[UREG_SP];
	w->lang.dotnet.rbp = w->regs[UREG_FP];
	w->lang.dotnet.rbx = w->regs[UREG_AUX];
}

/* Leaves the frame of a leaf that is in an epilogue. Returns DOTNET_NEXT_CODES if it is not. */
WALK_FN int dotnet_epilogue(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_DOTNET, which);
	__u32 at = 0;

	if (!w || read_user(w->code, sizeof(w->code), w->regs[UREG_PC]))
		return DOTNET_NEXT_CODES;
	dotnet_load(w);
	for (int i = 0; i < DOTNET_EPILOGUE_MAX && at < DOTNET_EPILOGUE_BYTES; i++) {
		int n = dotnet_execute(which, at);

		if (n <= 0)
			break;
		at += n;
	}
	return dotnet_is_end(which, at) ? DOTNET_NEXT_RETURN : DOTNET_NEXT_CODES;
}

/* Moves to the caller, whose return address is at the stack pointer that was computed. */
WALK_FN int dotnet_return(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_DOTNET, which);
	struct dotnet_walk *d;
	__u64 ra = 0;

	if (!w)
		return WALK_STOP;
	d = &w->lang.dotnet;
	if (d->sp - w->regs[UREG_SP] > DOTNET_FRAME_MAX || stack_word(w, d->sp, &ra))
		return walk_fail(w, WALK_ERR_STACK_READ);
	return walk_to_caller(w, ra, d->sp + 8, d->rbp, d->rbx);
}
