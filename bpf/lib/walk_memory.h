/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Primitives of every kind of step: reading the stack through a window, finding a mapping or a row,
 * and moving to the caller.
 */
#include "bpf/arch/code.h"
#include "bpf/lib/walk_state.h"

/*
 * Fills the window from @addr on; it is shorter at the top of the stack's mapping. Returns 0 or -1.
 */
static __always_inline int window_fill(struct walk *w, __u64 addr)
{
	__u32 len = WALK_WINDOW;

	w->n_fills++;
	w->window_at = 0;
	if (read_user(w->window, WALK_WINDOW, addr)) {
		len = USER_PAGE - (addr & (USER_PAGE - 1));
		if (len >= WALK_WINDOW)
			return -1;
		len &= WALK_WINDOW - 1;
		if (read_user(w->window, len, addr))
			return -1;
	}
	w->window_at = addr;
	w->window_len = len;
	return 0;
}

/* Reads the word of the stack at @addr. Returns 0, or -1 if it is not readable. */
static __always_inline int stack_word(struct walk *w, __u64 addr, __u64 *out)
{
	__u64 off;

	if (addr & 7)
		return read_user(out, 8, addr) ? -1 : 0;
	off = addr - w->window_at;
	if (!w->window_at || off > WALK_WINDOW || off + 8 > w->window_len) {
		if (window_fill(w, addr) || w->window_len < 8)
			return -1;
		off = 0;
	}
	*out = w->window[(off >> 3) & (WALK_WINDOW / 8 - 1)];
	return 0;
}

/*
 * Puts the last of the sorted mappings whose start is not above @pc into w->mapping. Returns 0 or
 * -1.
 */
static __always_inline int mapping_search(struct walk *w, __u64 pc)
{
	const __u32 units = sizeof(struct unwind_mapping) / 4;
	__u32 lo = w->process.first_mapping, n = w->process.n_mappings;
	struct arena_chunk *c;

	if (!n)
		return -1;
	for (int i = 0; i < WALK_SEARCH_STEPS && n > 1; i++) {
		__u32 half = n >> 1, mid = lo + half * units, at;

		c = arena_chunk_get(mid);
		if (!c)
			return -1;
		at = mid & (ARENA_CHUNK_MASK & ~7u);
		if (((__u64)c->units[at + 1] << 32 | c->units[at]) <= pc)
			lo = mid;
		n -= half;
	}
	c = arena_chunk_get(lo);
	if (!c)
		return -1;
	__builtin_memcpy(&w->mapping, &c->units[lo & (ARENA_CHUNK_MASK & ~7u)], sizeof(w->mapping));
	return 0;
}

static __always_inline int mapping_find(struct walk *w, __u64 pc)
{
	if (pc >= w->mapping.start && pc < w->mapping.end)
		return 0;
	if (mapping_search(w, pc) || pc < w->mapping.start || pc >= w->mapping.end) {
		w->mapping.start = w->mapping.end = 0;
		return -1;
	}
	return 0;
}

/*
 * True if @addr is mapped; w->mapping is its mapping then. For use in loops: if mapping_find() were
 * inlined into a loop, the verifier would check it in each turn, for each way in which the previous
 * turn may have ended.
 */
WALK_FN int walk_is_mapped(__u32 which, __u64 addr)
{
	struct walk *w = walk_get(which);

	return w && !mapping_find(w, addr);
}

/* The id of the rule at @off of a file; UNWIND_RULE_NONE if there is none. */
static __always_inline __u32 rule_search(const struct unwind_file *f, __u64 off)
{
	__u32 page = (__u32)(off >> FILE_PAGE_SHIFT) - f->page_lo;
	__u32 low = off & ((1u << FILE_PAGE_SHIFT) - 1);
	__u32 at = f->first_page + page * (sizeof(struct unwind_page) / 4);
	struct arena_chunk *c;
	__u32 lo, n;

	if (page >= f->n_pages)
		return UNWIND_RULE_NONE;
	c = arena_chunk_get(at);
	if (!c)
		return UNWIND_RULE_NONE;
	at &= ARENA_CHUNK_MASK & ~1u;
	lo = c->units[at];
	n = c->units[at + 1];
	if (!n)
		return UNWIND_RULE_NONE;
	c = arena_chunk_get(lo);
	if (!c)
		return UNWIND_RULE_NONE;
	/* a row is {lo, rule} in little endian: the low half is the offset in the page */
	for (int i = 0; i < WALK_SEARCH_STEPS && n > 1; i++) {
		__u32 half = n >> 1, mid = lo + half;

		if ((c->units[mid & ARENA_CHUNK_MASK] & 0xffff) <= low)
			lo = mid;
		n -= half;
	}
	return c->units[lo & ARENA_CHUNK_MASK] >> 16;
}

/* The code address in a word of the stack. */
static __always_inline __u64 code_address(__u64 word)
{
	return arch_code_address(word, walk_code_mask());
}

/* Moves to the caller. The next step judges a return address of zero: see walk_root(). */
static __always_inline int walk_to_caller(struct walk *w, __u64 ra, __u64 sp, __u64 fp, __u64 aux)
{
	__u64 pc = code_address(ra);

	w->regs[UREG_PC] = pc;
	w->regs[UREG_SP] = sp;
	w->regs[UREG_FP] = fp;
	w->regs[UREG_AUX] = aux;
	w->other_regs = w->other_regs == WALK_REGS_ALL ? WALK_REGS_KEPT : WALK_REGS_LOST;
	w->is_call = 1;
	w->at_breakpoint = 0;
	w->by_frame_pointer = 0;
	w->at_root = !pc;
	return WALK_CONTINUE;
}

/*
 * Ends the walk in the next step, if that finds the root plausible. The check is a step of its own
 * because the steps that lead here have no BPF stack left for more calls.
 */
static __always_inline int walk_to_root(struct walk *w)
{
	w->at_root = 1;
	return WALK_CONTINUE;
}

/*
 * Marks the stack: this caller was not found by a rule but by a word of the stack that looks like a
 * return address, or by a frame pointer in code that may not keep one. It may be wrong.
 */
static __always_inline void walk_searched(struct walk *w)
{
	w->record.head.flags |= RECORD_SEARCHED;
}

/* Moves to the caller of a frame that fp points to; @next is the fp that it saved. */
static __always_inline int walk_up_frame_pointer(struct walk *w, __u64 ra, __u64 next)
{
	int r = walk_to_caller(w, ra, w->regs[UREG_FP] + 16, next, w->regs[UREG_AUX]);

	walk_searched(w);
	w->by_frame_pointer = 1;
	return r;
}
