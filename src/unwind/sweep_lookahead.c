/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows one path from an instruction on; conditional branches are assumed not to be taken. The
 * path ends where an instruction decides the depth (a return, a frame pointer, a known state), or
 * after LOOK_AHEAD instructions.
 *
 * An instruction decides something or not regardless of where the path began. So a path that
 * was found to decide nothing is remembered (struct unwind_dead_end), for those that begin later on
 * it: most bytes are data or code that ends in nothing known, and each of their instructions is
 * tried.
 */
#include "unwind/sweep_lookahead.h"

#include "elf/x86_insn.h"

enum {
	WORD = 8,
	LOOK_AHEAD = 192, /* instructions */
};

static const struct unwind_sweep_state entry = { .seen = 1 };

/* The state at the path's start if, at its end, @depth words are above the return address. */
static bool found(const struct unwind_lookahead *a, int64_t depth, struct unwind_sweep_state *out)
{
	int64_t rbp = depth - a->depth + a->rbp + 1, rbx = depth - a->depth + a->rbx + 1;

	*out = entry;
	if (depth - a->depth < 0 || depth - a->depth > UNWIND_SWEEP_DEPTH_MAX)
		return false;
	out->depth = (uint16_t)(depth - a->depth);
	if (a->pops_rbp && rbp > 1 && rbp <= UNWIND_SWEEP_SLOT_MAX)
		out->rbp = rbp & UNWIND_SWEEP_SLOT_MAX;
	if (a->pops_rbx && rbx > 1 && rbx <= UNWIND_SWEEP_SLOT_MAX)
		out->rbx = rbx & UNWIND_SWEEP_SLOT_MAX;
	return true;
}

/* The same if the path leads to code whose state is known. */
static bool found_at(const struct unwind_lookahead *a, const struct unwind_sweep_state *at,
		     struct unwind_sweep_state *out)
{
	if (at->start)
		return found(a, 0, out);
	if (at->rsp_moved || !found(a, at->depth, out))
		return false;
	if (!a->pops_rbp)
		out->rbp = at->rbp;
	if (!a->pops_rbx)
		out->rbx = at->rbx;
	if (at->frame && out->rbp == at->rbp)
		out->frame = 1;
	return true;
}

/* Advances the path by one instruction. */
static void ahead_step(struct unwind_lookahead *a, const struct x86_insn *insn)
{
	switch (insn->kind) {
	case X86_PUSH:
		a->depth++;
		return;
	case X86_POP:
		if (a->depth <= 0 && insn->reg == X86_RBP) {
			a->pops_rbp = true;
			a->rbp = a->depth;
		} else if (a->depth <= 0 && insn->reg == X86_RBX) {
			a->pops_rbx = true;
			a->rbx = a->depth;
		}
		a->depth--;
		return;
	case X86_RSP_ADD:
		a->depth -= insn->value / WORD;
		return;
	case X86_CALL:
	case X86_CALL_INDIRECT:
		a->n_calls++;
		return;
	}
}

static const struct unwind_sweep_state *known_at(struct unwind_sweep *sw, uint64_t vaddr)
{
	const struct unwind_sweep_state *s = unwind_sweep_state_at(sw, vaddr);

	return s && s->seen && !s->lost ? s : NULL;
}

/* The conclusion that an instruction allows about the state before it. */
enum fate {
	FATE_OPEN, /* nothing; the next one may */
	FATE_RETURNS,
	FATE_HAS_FRAME,
	FATE_KNOWN, /* it leads to code whose state is known */
	FATE_NONE,  /* nothing, and no later instruction will */
};

static bool can_be_followed(const struct x86_insn *insn)
{
	switch (insn->kind) {
	case X86_RSP_FROM_REG:
	case X86_RSP_ALIGN:
	case X86_RSP_LOAD:
	case X86_RSP_LOST:
	case X86_JUMP_INDIRECT:
	case X86_TRAP:
		return false;
	case X86_RSP_ADD:
		return insn->value % WORD == 0;
	}
	return true;
}

/* The fate at *@vaddr, which advances to the next instruction if the fate is open. */
static enum fate fate_at(struct unwind_sweep *sw, uint64_t *vaddr, struct x86_insn *insn,
			 const struct unwind_sweep_state **out_known)
{
	const struct unwind_sweep_gap *g = unwind_sweep_gap_at(sw, *vaddr);
	const struct unwind_sweep_state *known = NULL;
	bool jumps;
	uint64_t next;

	if (!g || !unwind_sweep_decode(g, (size_t)(*vaddr - g->vaddr), insn))
		return FATE_NONE;
	if (insn->kind == X86_RET)
		return FATE_RETURNS;
	if (insn->kind == X86_LEAVE || insn->kind == X86_RSP_FROM_RBP)
		return FATE_HAS_FRAME;
	if (!can_be_followed(insn))
		return FATE_NONE;
	jumps = insn->kind == X86_JUMP || insn->kind == X86_JUMP_IF;
	next = *vaddr + insn->len;
	if (unwind_sweep_never_returns(sw, insn, next))
		return FATE_NONE;
	if (jumps || insn->kind == X86_CALL)
		known = known_at(sw, next + (uint64_t)(int64_t)insn->value);
	*out_known = known;
	if (jumps && known)
		return FATE_KNOWN;
	if (known && known->start && !known->returns)
		return FATE_NONE;
	if (insn->kind == X86_JUMP)
		next += (uint64_t)(int64_t)insn->value;
	else
		*out_known = known = known_at(sw, next);
	if (insn->kind != X86_JUMP && known)
		return known->start ? FATE_NONE : FATE_KNOWN;
	*vaddr = next;
	return FATE_OPEN;
}

bool unwind_lookahead_find(struct unwind_lookahead *a, uint64_t vaddr,
			   struct unwind_sweep_state *out)
{
	for (unsigned int n = 0; n < LOOK_AHEAD; n++) {
		const struct unwind_sweep_state *known;
		struct x86_insn insn;
		enum fate fate = fate_at(a->sw, &vaddr, &insn, &known);

		if (fate == FATE_NONE)
			return false;
		if (fate == FATE_RETURNS)
			return found(a, 0, out);
		if (fate == FATE_HAS_FRAME) {
			*out = entry;
			out->frame = out->rsp_moved = 1;
			out->rbp = 2;
			return true;
		}
		ahead_step(a, &insn);
		if (fate == FATE_KNOWN)
			return found_at(a, known, out);
	}
	return false;
}

bool unwind_dead_end_covers(struct unwind_sweep *sw, struct unwind_dead_end *o, uint64_t vaddr)
{
	if (vaddr >= o->until || (!o->n && vaddr != o->vaddr))
		*o = (struct unwind_dead_end){ .vaddr = vaddr, .until = UINT64_MAX };
	while (!o->is_dead_end && o->n < LOOK_AHEAD) {
		const struct unwind_sweep_state *known;
		uint64_t at = o->vaddr;
		struct x86_insn insn;
		enum fate fate = fate_at(sw, &o->vaddr, &insn, &known);

		o->is_dead_end = fate == FATE_NONE;
		if (fate != FATE_OPEN)
			break;
		o->n++;
		if (insn.kind == X86_JUMP && o->until == UINT64_MAX)
			o->until = at + insn.len;
	}
	return o->is_dead_end || o->n >= LOOK_AHEAD;
}
