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
	SEARCH_LINKS_MAX = 512, /* frames that one search checks, for all words together */
	SLJIT_PUSHES = 5,
	/*
	 * result of walk_generated(): the caller continues with walk_search_caller(), where more
	 * of the BPF stack is available
	 */
	GENERATED_SEARCH = 64,
};

/*
 * Steps by the frame-pointer convention, for generated code and files without tables. An fp of
 * zero ends the chain (see walk_root()). If no chain of frames led here, fp may hold
 * any value (Erlang's code uses it as a general register).
 */
WALK_FN int walk_frame_pointer(__u32 which)
{
	struct walk *w = walk_get(which);
	__u64 fp, next = 0, ra = 0;

	if (!w)
		return WALK_STOP;
	fp = w->regs[UREG_FP];
	if (!fp && w->by_frame_pointer)
		return walk_to_root(w);
	if (fp < w->regs[UREG_SP] || (fp & 7))
		return walk_fail(w, WALK_ERR_NO_FRAME_POINTER);
	if (stack_word(w, fp, &next) || stack_word(w, fp + 8, &ra))
		return walk_fail(w, WALK_ERR_NO_FRAME_POINTER);
	return walk_up_frame_pointer(w, ra, next);
}

/*
 * The number of bytes that a trampoline without a frame pointer (CPython's for perf) has below its
 * return address, from the code after its only call. Returns -1 for other code.
 */
static __always_inline int trampoline_bytes(const struct walk *w)
{
	__u64 code = 0;

	if (read_user(&code, sizeof(code), w->regs[UREG_PC]))
		return -1;
	return arch_trampoline_bytes(code, w->is_call);
}

/* True if fp points to a frame that contains a valid return address. */
static __always_inline int walk_has_frame_pointer(struct walk *w, __u32 which)
{
	__u64 fp = w->regs[UREG_FP], ra = 0;

	return fp >= w->regs[UREG_SP] && !(fp & 7) && !stack_word(w, fp + 8, &ra) &&
	       walk_is_return(which, ra) == WALK_CONTINUE;
}

/*
 * The likelihood that a word of the stack is the return address of generated code: the number of
 * consistent frames above it, plus CALLER_LINKED. If all frames are consistent, up to the root or
 * beyond the words that are searched, it is CALLER_ROOTED plus three bits.
 */
enum {
	CALLER_NONE,
	CALLER_LINKED, /* plus the number of frames, below LINKS_MAX */
	LINKS_MAX = 24,
	CALLER_ROOTED = 32, /* plus the marks */
	CALLER_HAS_ARGUMENTS =
		1,              /* fp points into the caller's frame, where PCRE's arguments are */
	CALLER_MAY_ENTER = 2,   /* the call may lead to generated code: walk_may_enter() */
	CALLER_CALLEES_FIT = 4, /* direct calls lead to the functions that the frames are of */
	CALLER_SURE = CALLER_ROOTED + CALLER_MAY_ENTER + CALLER_CALLEES_FIT,
	CALLEES_CHECKED = 4,          /* frames */
	FUNCTION_BYTES_MAX = 1 << 16, /* larger distances from the callee are misfits */
};

/* Results of walk_link(). */
enum { LINK_NEXT, LINK_ROOT, LINK_UNKNOWN, LINK_BROKEN, LINK_NEED_FILE };

/* The rule at the return address @ra into the file of w->mapping; NULL if there is none. */
static __always_inline const struct unwind_rule *rule_behind(struct walk *w, __u64 ra)
{
	struct unwind_file *f = file_get(w->mapping.file);

	if (!f || (f->state != FILE_TABLE_READY && f->state != FILE_TABLE_UNSWEPT))
		return NULL;
	return rule_get(rule_search(f, ra - 1 - w->mapping.start + w->mapping.file_off));
}

/* Returns the target of the direct call before @ra, whose code is in w->code. */
static __always_inline __u64 call_target(const struct walk *w, __u64 ra)
{
	return arch_call_target(w->code[0], ra);
}

/*
 * 1 if the call before @ra, whose code is in w->code, may lead to generated code: it is indirect,
 * or it leads to code that jumps there in its own frame, such as LuaJIT's interpreter. The latter
 * has that frame from its first instruction on, by its CFI; a function of a compiler has none.
 */
WALK_FN int walk_may_enter(__u32 which, __u64 ra)
{
	struct walk *w = walk_get(which);
	const struct unwind_rule *rule;
	__u64 to;

	if (!w)
		return 0;
	if (!arch_is_direct_call(w->code[0]))
		return 1;
	to = call_target(w, ra);
	if (mapping_find(w, to) || w->mapping.kind != MAPPING_FILE)
		return 1;
	rule = rule_behind(w, to + 1);
	return rule && rule->cfa == UNWIND_CFA_SP_OFF && rule->cfa_off > 8;
}

/*
 * The caller's fp, if @at is the return address: sljit pushes rbx, three other registers and rbp
 * below it, QEMU rbp first. Code that has pushed nothing yet has it in the register.
 */
static __always_inline __u64 pushed_fp(struct walk *w, __u64 at)
{
	__u64 fifth = w->regs[UREG_FP], first = 0;

	if (at - w->regs[UREG_SP] < 8 * SLJIT_PUSHES ||
	    stack_word(w, at - 8 * SLJIT_PUSHES, &fifth) || fifth - at < GUESS_FRAME_MAX ||
	    stack_word(w, at - 8, &first))
		return fifth;
	return first - at < GUESS_FRAME_MAX ? first : fifth;
}

/*
 * Checks whether the call before @ra, whose code is in w->code, leads to the function of the frame
 * below, which w->link.ra is in, or to code near it. A chain of return addresses that earlier calls
 * left fails this check where it meets the stack of a later call. Entries of a PLT are followed.
 */
WALK_FN int walk_check_callee(__u32 which, __u64 ra)
{
	struct walk *w = walk_get(which);
	__u64 to, slot = 0;

	if (!w)
		return WALK_STOP;
	if (!arch_is_direct_call(w->code[0]))
		return WALK_CONTINUE;
	to = call_target(w, ra);
	if (read_user(w->code, 16, to))
		return WALK_CONTINUE;
	if (arch_jump_slot(w->code, to, &slot) && read_user(&to, sizeof(to), slot))
		return WALK_CONTINUE;
	if (w->link.ra - to + FUNCTION_BYTES_MAX >= 2 * FUNCTION_BYTES_MAX)
		w->link.misfits = 1;
	return WALK_CONTINUE;
}

/* Moves w->link to the return address of the frame whose CFA is @cfa. */
static __always_inline int link_up(struct walk *w, const struct unwind_rule *rule, __u64 cfa)
{
	if (rule->fp == UNWIND_SAVED_CFA &&
	    read_user(&w->link.fp, sizeof(w->link.fp), cfa + (__s64)rule->fp_off))
		return LINK_BROKEN;
	w->link.at = cfa + (__s64)rule->ra_off;
	return LINK_NEXT;
}

/* False if the table of the file in w->mapping is not built yet. */
static __always_inline int has_table(struct walk *w)
{
	const struct unwind_file *f = file_get(w->mapping.file);

	w->need_file = w->mapping.file;
	return !f || f->state != FILE_TABLE_NOT_READY;
}

/*
 * Follows the return address at w->link.at to that of the function that it leads to, without
 * changing the walk. The link is broken if no call returns there.
 */
static __always_inline int walk_link(struct walk *w, __u32 which)
{
	const struct unwind_rule *rule;
	__u64 ra = 0, cfa;

	if (w->link.n ? read_user(&ra, sizeof(ra), w->link.at) : stack_word(w, w->link.at, &ra))
		return LINK_BROKEN;
	if (walk_is_return(which, ra) != WALK_CONTINUE)
		return LINK_BROKEN;
	if (w->mapping.kind != MAPPING_FILE)
		return w->link.n ? LINK_UNKNOWN : LINK_BROKEN;
	if (!has_table(w))
		return LINK_NEED_FILE;
	rule = rule_behind(w, ra);
	if (!w->link.n) {
		w->link.fp = pushed_fp(w, w->link.at);
		w->link.may_enter = walk_may_enter(which, ra);
	} else if (w->link.n <= CALLEES_CHECKED) {
		walk_check_callee(which, ra);
	}
	w->link.ra = ra;
	if (!rule)
		return LINK_UNKNOWN;
	if (rule->cfa == UNWIND_CFA_END)
		return LINK_ROOT;
	if (rule->cfa == UNWIND_CFA_SP_OFF)
		return link_up(w, rule, w->link.at + 8 + (__s64)rule->cfa_off);
	cfa = w->link.fp + (__s64)rule->cfa_off;
	if (rule->cfa == UNWIND_CFA_FP_OFF && cfa - w->link.at < GUESS_FRAME_MAX && !(cfa & 7))
		return link_up(w, rule, cfa);
	return LINK_UNKNOWN;
}

/* True if the frames beyond w->link.at are not those of an earlier call, which are below. */
static __always_inline int is_beyond_search(const struct walk *w)
{
	return w->link.at - w->regs[UREG_SP] >= 8 * SEARCH_WORDS_MAX;
}

/*
 * Returns the likelihood that w->search.at is the return address, once walk_link() has ended with
 * @r.
 */
static __always_inline __u32 caller_certainty(const struct walk *w, int r)
{
	__u64 at = w->search.at, fp = w->regs[UREG_FP];
	__u32 certainty = CALLER_ROOTED;

	if (r == LINK_BROKEN && w->link.n < 2)
		return CALLER_NONE;
	if (r != LINK_ROOT && !(r == LINK_NEXT && is_beyond_search(w)))
		return CALLER_LINKED + w->link.n;
	if (w->link.n && fp - at < w->link.frame_end - at)
		certainty |= CALLER_HAS_ARGUMENTS;
	if (w->link.may_enter)
		certainty |= CALLER_MAY_ENTER;
	if (!w->link.misfits)
		certainty |= CALLER_CALLEES_FIT;
	return certainty;
}

static __always_inline void search_word(struct walk *w, __u64 at)
{
	w->search.at = at;
	w->link.at = at;
	w->link.n = 0;
	w->link.misfits = 0;
}

/* Judges the word once the frames above it have been checked as far as @r. */
static __always_inline void search_judge(struct walk *w, int r)
{
	__u32 certainty = caller_certainty(w, r);

	if (certainty > w->search.best) {
		w->search.best = certainty;
		w->cfa = w->search.at;
	}
	if (r == LINK_BROKEN && w->link.n)
		w->search.broken = w->link.frame_end;
}

/* True if no further word can be likelier. */
static __always_inline int search_is_over(const struct walk *w)
{
	__u64 arguments = w->regs[UREG_FP] - w->regs[UREG_SP] < GUESS_FRAME_MAX;

	return w->search.best >= CALLER_SURE + arguments * CALLER_HAS_ARGUMENTS ||
	       w->search.at - w->regs[UREG_SP] >= 8 * SEARCH_WORDS_MAX;
}

/*
 * Checks the next frame. Returns WALK_CONTINUE while the search continues, WALK_STOP at its end,
 * or WALK_NEED_FILE. Frames that proved broken are not checked again for each of the words that
 * they consist of.
 */
WALK_FN int walk_search_turn(__u32 which)
{
	struct walk *w = walk_get(which);
	int r;

	if (!w)
		return WALK_STOP;
	r = walk_link(w, which);
	if (r == LINK_NEED_FILE)
		return WALK_NEED_FILE;
	if (r == LINK_NEXT && !w->link.n++)
		w->link.frame_end = w->link.at;
	if (r == LINK_NEXT && w->link.n == 1 && w->search.at == w->search.broken)
		w->search.broken = w->link.at;
	else if (r == LINK_NEXT && w->link.n < LINKS_MAX)
		return WALK_CONTINUE;
	else
		search_judge(w, r);
	search_word(w, w->search.at + 8);
	return search_is_over(w) ? WALK_STOP : WALK_CONTINUE;
}

/*
 * Searches for the return address of generated code without a frame pointer, such as regular
 * expressions; its address goes into w->cfa, 0 if none was found. Earlier calls leave return
 * addresses behind, so the frames above each candidate are checked: frames of an earlier call are
 * rarely consistent up to the root. The step is divided in two because little BPF stack remains,
 * and each turn is a function because the verifier would otherwise check all turns one after
 * another.
 */
WALK_FN int walk_search_caller(__u32 which)
{
	struct walk *w = walk_get(which);
	int r = WALK_CONTINUE;

	if (!w)
		return WALK_STOP;
	w->cfa = 0;
	w->search.best = CALLER_NONE;
	w->search.broken = 0;
	search_word(w, w->regs[UREG_SP] & ~7ULL);
	for (int i = 0; i < SEARCH_LINKS_MAX && r == WALK_CONTINUE; i++)
		r = walk_search_turn(which);
	return r == WALK_NEED_FILE ? WALK_NEED_FILE : WALK_CONTINUE;
}

/* Moves to the caller that was found. */
WALK_FN int walk_found_caller(__u32 which)
{
	struct walk *w = walk_get(which);
	__u64 at, ra, aux;

	if (!w)
		return WALK_STOP;
	at = w->cfa;
	if (!at)
		return walk_frame_pointer(which);
	aux = w->regs[UREG_AUX];
	if (stack_word(w, at, &ra) || (at - w->regs[UREG_SP] >= 8 && stack_word(w, at - 8, &aux)))
		return walk_fail(w, WALK_ERR_STACK_READ);
	walk_searched(w);
	return walk_to_caller(w, ra, at + 8, pushed_fp(w, at), aux);
}

/*
 * True if a call returns to @ra, with the code before @ra in w->code, and if a direct one leads to
 * pc, which is then the beginning of the function. In the middle of a function, the word at sp is a
 * part of its frame.
 */
static __always_inline int has_return_address(const struct walk *w, __u32 which, __u64 ra)
{
	if (walk_is_return(which, ra) != WALK_CONTINUE)
		return 0;
	return w->is_call || !arch_is_direct_call(w->code[0]) ||
	       call_target(w, ra) == w->regs[UREG_PC];
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
	if (bytes < 0 || stack_word(w, w->regs[UREG_SP] + bytes, &ra) ||
	    !has_return_address(w, which, ra))
		return ARCH_CALL_PUSHES && !walk_has_frame_pointer(w, which)
			       ? GENERATED_SEARCH
			       : walk_frame_pointer(which);
	return walk_to_caller(w, ra, w->regs[UREG_SP] + bytes + 8, w->regs[UREG_FP],
			      w->regs[UREG_AUX]);
}
