/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The idea. At the first instruction of a function the return address is at rsp. From there the
 * depth of the stack is followed along every branch, as a data-flow analysis with one state per
 * byte of code. Merging states is not needed: compilers give each instruction one depth, so the
 * first state that reaches an instruction is kept.
 *
 * Why the result is reliable. Calls may not return, and the code after such a call may belong to
 * another path; so jumps are followed before returns, and before the code after a call is
 * followed, a lookahead determines which depth it needs (sweep_lookahead.c). Functions that are
 * known not to return have no continuation. A path never continues into the start of a function. An
 * indirect jump (the table of a switch) leads to the code that nothing else leads to, up to the
 * next function: that code begins with the jump's state, if what follows agrees, or, in a second
 * pass, if all such jumps of the function agree and nothing contradicts. Whatever is not understood
 * (rsp from elsewhere without a frame pointer, more pops than pushes) makes the rest of its path
 * unknown, so that it has no row.
 *
 * Bounds. Each instruction is visited once, or twice if a certain state follows an uncertain one,
 * so the time is linear in the code: 32 MiB of code and 4 bytes of state for each byte at most.
 */
#include "unwind/sweep.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/image.h"
#include "elf/x86_insn.h"
#include "unwind/rows.h"
#include "unwind/sweep_entries.h"
#include "unwind/sweep_jumps.h"
#include "unwind/sweep_lookahead.h"
#include "unwind/sweep_step.h"

enum {
	SAVED_MIN = 4,   /* registers that assembly saves at least */
	ROUNDS_MAX = 64, /* rounds of finding functions that return because their callees do */
};

/* ---- following the code ---- */

/*
 * Sets the state at @vaddr to @s. Returns true if that is new, so that the path has to be followed.
 */
static bool reach(struct unwind_sweep *sw, uint64_t vaddr, const struct unwind_sweep_state *s)
{
	struct unwind_sweep_state *at = unwind_sweep_state_at(sw, vaddr);

	if (!at || at->start || (at->seen && (!at->lost || s->lost)))
		return false;
	*at = *s;
	return true;
}

/*
 * Notes that the function that begins at @owner returns, or continues in another that may return.
 */
static void owner_returns(struct unwind_sweep *sw, uint64_t owner)
{
	struct unwind_sweep_state *s = unwind_sweep_state_at(sw, owner);

	if (!s || !s->start || s->returns)
		return;
	s->returns = 1;
	sw->more_return = true;
}

/*
 * Handles a jump to code that has been followed or is in no gap: notes whether the function may
 * return by it. For a jump to another function that may turn out later.
 */
static int owner_jumps(struct unwind_sweep *sw, uint64_t owner, uint64_t target)
{
	const struct unwind_sweep_state *s = unwind_sweep_state_at(sw, target);

	if (!s || (s->start && (s->returns || target == owner)))
		owner_returns(sw, owner);
	else if (s->start && owner)
		return vec_push(&sw->calls,
				(struct unwind_sweep_call){ target, { .owner = owner }, *s });
	return 0;
}

static int put_call(struct unwind_sweep *sw, const struct x86_insn *insn, uint64_t next,
		    uint64_t owner, const struct unwind_sweep_state *s)
{
	uint64_t callee = next + (uint64_t)(int64_t)insn->value;
	const struct unwind_sweep_state *begins = unwind_sweep_state_at(sw, callee);

	if (insn->kind == X86_CALL && begins && begins->start && !begins->returns)
		return vec_push(&sw->calls,
				(struct unwind_sweep_call){ callee, { next, owner }, *s });
	if (!reach(sw, next, s))
		return 0;
	return vec_push(&sw->returns, (struct unwind_sweep_path){ next, owner });
}

/* Follows a path from its first instruction, whose state is known, to its end. */
static int follow(struct unwind_sweep *sw, struct unwind_sweep_path path)
{
	const struct unwind_sweep_gap *g = unwind_sweep_gap_at(sw, path.vaddr);
	struct unwind_sweep_state s = *unwind_sweep_state_at(sw, path.vaddr);
	uint64_t vaddr = path.vaddr;
	struct x86_insn insn;
	int r = 0;

	while (!r && unwind_sweep_decode(g, (size_t)(vaddr - g->vaddr), &insn)) {
		uint64_t next = vaddr + insn.len, target = next + (uint64_t)(int64_t)insn.value;

		unwind_sweep_step(&s, &insn);
		if (insn.kind == X86_RET || insn.kind == X86_JUMP_INDIRECT)
			owner_returns(sw, path.owner);
		if (unwind_sweep_never_returns(sw, &insn, next))
			return r;
		if (insn.kind == X86_JUMP || insn.kind == X86_JUMP_IF) {
			if (reach(sw, target, &s))
				r = vec_push(&sw->jumps,
					     (struct unwind_sweep_path){ target, path.owner });
			else
				r = owner_jumps(sw, path.owner, target);
		}
		if (r || insn.kind == X86_JUMP || insn.kind == X86_JUMP_INDIRECT ||
		    insn.kind == X86_RET || insn.kind == X86_TRAP)
			return r;
		if (next - g->vaddr >= g->len)
			return 0;
		if (insn.kind == X86_CALL || insn.kind == X86_CALL_INDIRECT)
			return put_call(sw, &insn, next, path.owner, &s);
		if (!reach(sw, next, &s))
			return owner_jumps(sw, path.owner, next);
		vaddr = next;
	}
	return r;
}

/* ---- calls ---- */

/* True if the code at @at looks like the start of a function, which nothing calls directly. */
static bool looks_like_function(const struct unwind_sweep_gap *g, size_t at)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	struct x86_insn insn;

	if (g->len - at >= sizeof(endbr) && !memcmp(g->code + at, endbr, sizeof(endbr)))
		return true;
	return unwind_sweep_decode(g, at, &insn) &&
	       (insn.kind == X86_PUSH || insn.kind == X86_REG_FROM_RSP ||
		(insn.kind == X86_RSP_ADD && insn.value < 0));
}

/* True if a function is likely to begin at @at: after padding, or aligned with a prologue. */
static bool is_apart(const struct unwind_sweep_gap *g, size_t at)
{
	return unwind_sweep_padding(g, at) ||
	       ((g->vaddr + at) % UNWIND_SWEEP_ALIGN == 0 && looks_like_function(g, at));
}

/*
 * True if the call before @vaddr does not return: then the code that follows belongs to another
 * path or function, and needs another depth. Alignment after the call makes that likely; without
 * alignment only evidence before the next call counts.
 */
static bool call_never_returns(struct unwind_sweep *sw, uint64_t vaddr)
{
	struct unwind_sweep_state *s = unwind_sweep_state_at(sw, vaddr), before = *s, other;
	const struct unwind_sweep_gap *g = unwind_sweep_gap_at(sw, vaddr);
	struct unwind_lookahead a = { .sw = sw };
	bool differs;

	if (!before.seen)
		return true; /* it has turned out already: the call was reached twice */
	if (before.lost || before.rsp_moved)
		return false;
	s->seen = 0; /* so that the path does not find its own state */
	differs = unwind_lookahead_find(&a, vaddr, &other) && other.depth != before.depth &&
		  !other.rsp_moved;
	if (differs && a.n_calls && !is_apart(g, (size_t)(vaddr - g->vaddr)))
		differs = false;
	if (!differs)
		*s = before;
	else
		*s = (struct unwind_sweep_state){ 0 };
	return differs;
}

/* ---- all paths ---- */

static int follow_pending(struct unwind_sweep *sw)
{
	int r = 0;

	while (!r && (sw->jumps.len || sw->returns.len)) {
		struct unwind_sweep_path path;

		if (sw->jumps.len) {
			r = follow(sw, sw->jumps.data[--sw->jumps.len]);
			continue;
		}
		path = sw->returns.data[--sw->returns.len];
		if (!call_never_returns(sw, path.vaddr))
			r = follow(sw, path);
	}
	return r;
}

static int follow_all(struct unwind_sweep *sw, uint64_t vaddr, uint64_t owner)
{
	int r = follow(sw, (struct unwind_sweep_path){ vaddr, owner });

	return r ? r : follow_pending(sw);
}

/*
 * Continues after the calls of functions that have turned out to return since the last round;
 * functions that jump to one of them return as well.
 */
static int follow_calls(struct unwind_sweep *sw)
{
	int r = 0;

	for (unsigned int round = 0; !r && sw->more_return && round < ROUNDS_MAX; round++) {
		size_t n = sw->calls.len, kept = 0;

		sw->more_return = false;
		for (size_t i = 0; !r && i < n; i++) {
			struct unwind_sweep_call c = sw->calls.data[i];

			if (!unwind_sweep_state_at(sw, c.callee)->returns &&
			    round < ROUNDS_MAX - 1) {
				sw->calls.data[kept++] = c;
				continue;
			}
			if (!c.next.vaddr)
				owner_returns(sw, c.next.owner);
			else if (reach(sw, c.next.vaddr, &c.state))
				r = vec_push(&sw->returns, c.next);
		}
		sw->calls.len = kept;
		if (!r)
			r = follow_pending(sw);
	}
	return r;
}

/* ---- code to which nothing leads ---- */

/*
 * True for the first entry of a lazy .plt, push GOT[1]; jmp *GOT[2], to which the others jump after
 * a push.
 */
static bool is_lazy_binding(const struct unwind_sweep_gap *g, size_t at)
{
	const uint8_t *p = g->code + at;

	return g->len - at >= 8 && p[0] == 0xff && p[1] == 0x35 &&
	       ((p[6] == 0xff && p[7] == 0x25) || (p[6] == 0xf2 && p[7] == 0xff));
}

/* True for an entry of a .plt: optionally endbr64, then jmp *GOT[N]. */
static bool is_plt_entry(const struct unwind_sweep_gap *g, size_t at)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t jump[] = { 0xff, 0x25 };

	if (g->len - at >= sizeof(endbr) && !memcmp(g->code + at, endbr, sizeof(endbr)))
		at += sizeof(endbr);
	if (at < g->len && g->code[at] == 0xf2) /* bnd */
		at++;
	return g->len - at >= sizeof(jump) && !memcmp(g->code + at, jump, sizeof(jump));
}

/* True if a jump with this state may be a tail call, or its target the start of a function. */
static bool is_as_entered(const struct unwind_sweep_state *s)
{
	return !s->lost && !s->rsp_moved && !s->depth;
}

/*
 * True if the code at @at looks like assembly between functions with CFI: it saves several
 * registers at once.
 */
static bool looks_like_assembler(const struct unwind_sweep_gap *g, size_t at)
{
	struct x86_insn insn;

	for (unsigned int n = 0; n < SAVED_MIN; n++, at += insn.len)
		if (at >= g->len || !unwind_sweep_decode(g, at, &insn) || insn.kind != X86_PUSH ||
		    insn.reg == X86_NO_REG)
			return false;
	return true;
}

/* Where a pass over a gap is. */
struct passing {
	struct unwind_sweep_state jump;   /* state at the last indirect jump */
	struct unwind_sweep_jumps tables; /* those by tables */
	bool binds;      /* the last indirect jump is a PLT entry's: only its second half follows */
	bool is_second;  /* the first pass has found what other evidence there is */
	size_t code_end; /* code or padding was seen up to about here */
	struct unwind_dead_end outlook;
};

/* Begins another function. */
static void forget_jumps(struct passing *w)
{
	w->jump = (struct unwind_sweep_state){ 0 };
	w->tables = (struct unwind_sweep_jumps){ 0 };
}

/*
 * Returns the state at @at if that can only be a target of the function's jumps by tables, else
 * NULL: dav1d's functions in assembly choose among variants by such a jump, and the variants end in
 * another one, so that the code itself does not decide its state.
 */
static const struct unwind_sweep_state *state_in_table(const struct passing *w,
						       const struct unwind_sweep_gap *g, size_t at)
{
	return w->is_second && unwind_sweep_looks_like_code(g, at)
		       ? unwind_sweep_jumps_state(&w->tables)
		       : NULL;
}

/*
 * True if another function than the one that jumped may begin at @at, with another state. Variants
 * are aligned, too, but mostly chosen before anything is pushed.
 */
static bool may_be_another(const struct passing *w, const struct unwind_sweep_gap *g, size_t at)
{
	return !((g->vaddr + at) % UNWIND_SWEEP_ALIGN) &&
	       (looks_like_function(g, at) || !is_as_entered(&w->tables.state));
}

/* Finds the state at the start of code to which nothing leads. Returns false if none is certain. */
static bool state_of_unreached(struct unwind_sweep *sw, const struct unwind_sweep_gap *g, size_t at,
			       struct passing *w, struct unwind_sweep_state *out)
{
	const struct unwind_sweep_state *jump = &w->jump, *table;
	struct unwind_lookahead a = { .sw = sw };
	bool function;

	*out = UNWIND_SWEEP_ENTERED;
	if (is_lazy_binding(g, at)) {
		out->depth = 1;
		return true;
	}
	if (is_plt_entry(g, at))
		return true;
	if (!g->whole && !jump->seen)
		return !((g->vaddr + at) % UNWIND_SWEEP_ALIGN) && looks_like_assembler(g, at);
	if (!unwind_dead_end_covers(sw, &w->outlook, g->vaddr + at) &&
	    unwind_lookahead_find(&a, g->vaddr + at, out)) {
		if (jump->seen && jump->depth == out->depth)
			*out = *jump;
		return true;
	}
	function = looks_like_function(g, at);
	table = state_in_table(w, g, at);
	if (table) {
		*out = *table;
		return true;
	}
	*out = jump->seen && !function ? *jump : UNWIND_SWEEP_ENTERED;
	out->start = 0;
	if (!g->whole || !jump->seen)
		return g->whole && function;
	return (function && is_as_entered(jump)) ||
	       (sw->one_frame && (function || unwind_sweep_looks_like_code(g, at)));
}

/*
 * Functions begin after other code, or aligned. Nothing else is tried, because data has many
 * bytes.
 */
static bool may_begin(const struct unwind_sweep_gap *g, const struct passing *w, size_t at)
{
	return at < w->code_end + UNWIND_SWEEP_ALIGN || !((g->vaddr + at) % UNWIND_SWEEP_ALIGN);
}

/*
 * One instruction of the pass over a gap: code that was reached is skipped, other code is followed.
 */
static int pass(struct unwind_sweep *sw, const struct unwind_sweep_gap *g, size_t *at,
		struct passing *w)
{
	struct unwind_sweep_state *s = &sw->states[g->first + *at], begins;
	struct x86_insn insn;
	size_t padding;
	int r = 0;

	unwind_dead_end_step(&w->outlook);
	if (s->seen)
		w->code_end = *at + 1;
	if (!s->seen) {
		padding = unwind_sweep_padding(g, *at);
		if (padding) {
			*at += padding;
			w->code_end = *at;
			return 0;
		}
		if (w->is_second && may_be_another(w, g, *at))
			forget_jumps(w);
		if (may_begin(g, w, *at) && state_of_unreached(sw, g, *at, w, &begins)) {
			*s = begins;
			w->outlook = (struct unwind_dead_end){ 0 };
			r = follow_all(sw, g->vaddr + *at, 0);
			r = r ? r : follow_calls(sw);
		}
	}
	if (s->start)
		forget_jumps(w);
	if (!unwind_sweep_decode(g, *at, &insn)) {
		++*at;
		return r;
	}
	unwind_sweep_jumps_step(&w->tables, x86_sum_register(g->code + *at, insn.len));
	if (s->seen && insn.kind == X86_JUMP_INDIRECT) {
		/* the state is unknown if a table's byte was mistaken for code */
		w->jump = s->lost ? (struct unwind_sweep_state){ 0 } : *s;
		unwind_sweep_jumps_note(&w->tables, x86_jump_register(g->code + *at, insn.len), s);
		w->binds = is_plt_entry(g, *at);
	} else if (w->binds && !g->whole) {
		w->jump = (struct unwind_sweep_state){ 0 };
	}
	*at += unwind_sweep_insn_len(sw, g, *at, insn.len);
	return r;
}

static int pass_all(struct unwind_sweep *sw, bool is_second)
{
	int r = 0;

	for (size_t i = 0; !r && i < sw->gaps.len; i++) {
		const struct unwind_sweep_gap *g = &sw->gaps.data[i];
		struct passing w = { .is_second = is_second };

		for (size_t at = 0; !r && at < g->len;)
			r = pass(sw, g, &at, &w);
	}
	return r;
}

int unwind_sweep_run(struct unwind_sweep *sw, const struct elf_image *img)
{
	int r = 0;

	if (!sw->gaps.len)
		return 0;
	sw->states = calloc(sw->n_bytes, sizeof(*sw->states));
	if (!sw->states)
		return -ENOMEM;
	unwind_sweep_begin_functions(sw, img);
	r = unwind_no_return_find(&sw->no_return, img);
	for (size_t i = 0; !r && i < sw->gaps.len; i++) {
		const struct unwind_sweep_gap *g = &sw->gaps.data[i];

		for (size_t at = 0; !r && at < g->len; at++)
			if (sw->states[g->first + at].start)
				r = follow_all(sw, g->vaddr + at, g->vaddr + at);
	}
	r = r ? r : follow_calls(sw);
	r = r ? r : pass_all(sw, false);
	return r ? r : pass_all(sw, true);
}

/* ---- rows ---- */

static int put_gap(const struct unwind_sweep *sw, const struct unwind_sweep_gap *g,
		   struct unwind_rows *rows, size_t first)
{
	static const struct unwind_sweep_state nothing = { 0 };
	const struct unwind_sweep_state *before = NULL;
	struct unwind_rule rule;
	int r = 0;

	for (size_t at = 0; !r && at < g->len;) {
		const struct unwind_sweep_state *s = &sw->states[g->first + at];
		struct x86_insn insn = { .len = 1 };

		if (s->seen && !x86_decode(g->code + at, g->len - at, &insn)) {
			s = &nothing;
			insn.len = 1;
		}
		/* most instructions do not change the state */
		if (!before || memcmp(s, before, sizeof(*s)) != 0) {
			rule = unwind_sweep_rule(s);
			r = unwind_rows_put(rows, first, g->file_off + at, &rule);
		}
		before = s;
		at += unwind_sweep_insn_len(sw, g, at, insn.len);
	}
	rule = unwind_sweep_rule(&nothing);
	return r ? r : unwind_rows_put(rows, first, g->file_off + g->len, &rule);
}

int unwind_sweep_rows(const struct unwind_sweep *sw, struct unwind_rows *rows)
{
	size_t first = rows->len;
	int r = 0;

	for (size_t i = 0; !r && i < sw->gaps.len; i++)
		r = put_gap(sw, &sw->gaps.data[i], rows, first);
	return r;
}
