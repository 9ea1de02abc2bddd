/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Steps out of code that belongs neither to a file nor to a known runtime. There are three
 * attempts, the cheapest first: a few known forms of trampolines, a frame pointer that leads to a
 * return address, and a search up the stack for the first plausible return address.
 */
#include "bpf/lib/calls.h"
#include "bpf/lib/walk_memory.h"

enum {
	SEARCH_WORDS_MAX = 256, /* words of stack that are searched for a return address */
	SLJIT_PUSHES = 5,
	/*
	 * result of walk_generated(): the caller continues with walk_search_caller(), where more
	 * of the BPF stack is available
	 */
	GENERATED_SEARCH = 64,
};

/*
 * Steps by the frame-pointer convention, for generated code and files without tables. An rbp of
 * zero ends the chain (see walk_root()). If no chain of frames led here, rbp may hold
 * any value (Erlang's code uses it as a general register).
 */
WALK_FN int walk_frame_pointer(__u32 which)
{
	struct walk *w = walk_get(which);
	__u64 rbp, next = 0, ra = 0;

	if (!w)
		return WALK_STOP;
	rbp = w->regs[UREG_RBP];
	if (!rbp && w->by_frame_pointer)
		return walk_to_root(w);
	if (rbp < w->regs[UREG_RSP] || (rbp & 7))
		return walk_fail(w, WALK_ERR_NO_FRAME_POINTER);
	if (stack_word(w, rbp, &next) || stack_word(w, rbp + 8, &ra))
		return walk_fail(w, WALK_ERR_NO_FRAME_POINTER);
	return walk_up_frame_pointer(w, ra, next);
}

/*
 * True if the code is that of a function that has just begun or is about to return: it has no
 * frame.
 */
static __always_inline int is_frameless(__u64 code)
{
	return (code & 0xffffffff) == 0x08ec8348 || /* sub $8, %rsp */
	       (code & 0xffffffff) == 0xe5894855 || /* push %rbp; mov %rsp, %rbp */
	       (code & 0xffffffff) == 0xfa1e0ff3 || /* endbr64 */
	       (code & 0xff) == 0xc3;               /* ret */
}

/*
 * The number of bytes that a trampoline without a frame pointer (CPython's for perf) has below its
 * return address, from the code behind its only call: add $N, %rsp; ret. Returns -1 for other code.
 */
static __always_inline int trampoline_bytes(const struct walk *w)
{
	__u64 code = 0;

	if (read_user(&code, sizeof(code), w->regs[UREG_RIP]))
		return -1;
	if (!w->is_call && is_frameless(code))
		return 0;
	if (!w->is_call && (code & 0xf8ff) == 0xd0ff) /* call *%reg */
		code >>= 16;
	if ((code & 0xff80ffffff) != 0xc300c48348)
		return -1;
	return (code >> 24) & 0x78;
}

/* True if rbp points to a frame that contains a valid return address. */
static __always_inline int walk_has_frame_pointer(struct walk *w, __u32 which)
{
	__u64 rbp = w->regs[UREG_RBP], ra = 0;

	return rbp >= w->regs[UREG_RSP] && !(rbp & 7) && !stack_word(w, rbp + 8, &ra) &&
	       walk_is_return(which, ra) == WALK_CONTINUE;
}

/* The certainty with which the caller of generated code without a frame pointer is known. */
enum { CALLER_NONE, CALLER_LIKELY, CALLER_SURE };

/* The rule at the return address @ra into a file; NULL if there is none that leads up the stack. */
static __always_inline const struct unwind_rule *rule_behind(struct walk *w, __u64 ra)
{
	struct unwind_file *f = file_get(w->mapping.file);
	const struct unwind_rule *rule;

	if (!f || (f->state != FILE_TABLE_READY && f->state != FILE_TABLE_UNSWEPT))
		return NULL;
	rule = rule_get(rule_search(f, ra - 1 - w->mapping.start + w->mapping.file_off));
	return rule && rule->cfa == UNWIND_CFA_RSP ? rule : NULL;
}

/*
 * Is the word at @at of the stack a return address into a file, whose function was itself called?
 * Earlier calls may leave such words behind. It is sure if rbp points into that function's frame,
 * where PCRE's arguments are.
 */
WALK_FN int walk_is_caller(__u32 which, __u64 at)
{
	struct walk *w = walk_get(which);
	const struct unwind_rule *rule;
	__u64 ra = 0, cfa;

	if (!w || stack_word(w, at, &ra) || walk_is_return(which, ra) != WALK_CONTINUE ||
	    w->mapping.kind != MAPPING_FILE)
		return CALLER_NONE;
	rule = rule_behind(w, ra);
	if (!rule)
		return CALLER_LIKELY;
	cfa = at + 8 + (__s64)rule->cfa_off;
	if (read_user(&ra, sizeof(ra), cfa + rule->ra_off) ||
	    walk_is_return(which, ra) != WALK_CONTINUE)
		return CALLER_NONE;
	return w->regs[UREG_RBP] - at < cfa - at ? CALLER_SURE : CALLER_LIKELY;
}

/*
 * Searches for the return address of generated code without a frame pointer, such as regular
 * expressions; its address goes into w->cfa, 0 if none was found. The step is divided in two
 * because little BPF stack remains.
 */
WALK_FN int walk_search_caller(__u32 which)
{
	struct walk *w = walk_get(which);
	__u64 at;

	if (!w)
		return WALK_STOP;
	at = w->regs[UREG_RSP] & ~7ULL;
	w->cfa = 0;
	for (int i = 0; i < SEARCH_WORDS_MAX; i++, at += 8) {
		int r = walk_is_caller(which, at);

		if (r == CALLER_SURE || (r == CALLER_LIKELY && !w->cfa))
			w->cfa = at;
		if (r == CALLER_SURE)
			break;
	}
	return WALK_CONTINUE;
}

/*
 * Moves to the caller that was found. Below the return address sljit saves rbx, three other
 * registers and rbp.
 */
WALK_FN int walk_found_caller(__u32 which)
{
	struct walk *w = walk_get(which);
	__u64 at, ra, rbp, rbx, sp;

	if (!w)
		return WALK_STOP;
	at = w->cfa;
	if (!at)
		return walk_frame_pointer(which);
	rbp = w->regs[UREG_RBP];
	rbx = w->regs[UREG_RBX];
	sp = w->regs[UREG_RSP];
	if (stack_word(w, at, &ra) || (at - sp >= 8 && stack_word(w, at - 8, &rbx)) ||
	    (at - sp >= 8 * SLJIT_PUSHES && stack_word(w, at - 8 * SLJIT_PUSHES, &rbp)))
		return walk_fail(w, WALK_ERR_STACK_READ);
	walk_searched(w);
	return walk_to_caller(w, ra, at + 8, rbp, rbx);
}

/* Steps out of generated code: a trampoline, code with a frame pointer, or neither. */
WALK_FN int walk_generated(__u32 which)
{
	struct walk *w = walk_get(which);
	__u64 ra = 0;
	int bytes;

	if (!w)
		return WALK_STOP;
	bytes = trampoline_bytes(w);
	if (bytes < 0 || stack_word(w, w->regs[UREG_RSP] + bytes, &ra))
		return walk_has_frame_pointer(w, which) ? walk_frame_pointer(which)
							: GENERATED_SEARCH;
	return walk_to_caller(w, ra, w->regs[UREG_RSP] + bytes + 8, w->regs[UREG_RBP],
			      w->regs[UREG_RBX]);
}
