/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transfer function of the analysis: what one instruction does to the state, and the rule of a
 * state. An effect that is not understood (rsp from elsewhere without a frame pointer, more pops
 * than pushes) makes the state unknown.
 *
 * SIMD assembly aligns rsp and keeps the old one in a register (OpenBLAS in rbx throughout), or
 * mostly in a word above the new one. In between a state's depth holds two numbers: the depth of
 * the old rsp, and where that rsp is.
 */
#include "unwind/sweep_step.h"

#include "elf/x86_insn.h"

enum { WORD = 8, RED_ZONE = 128 /* bytes below rsp that signals spare */ };

static void lose(struct unwind_sweep_state *s)
{
	*s = (struct unwind_sweep_state){ .seen = 1, .lost = 1 };
}

/* ---- while rsp is aligned ---- */

enum {
	OLD_DEPTH_BITS = 5,
	OLD_DEPTH_MAX = (1 << OLD_DEPTH_BITS) - 1,
	OLD_AT_MAX = 2000, /* words above rsp; larger values are a register's number, plus
			      OLD_AT_MAX + 1 */
};

static bool is_aligned(const struct unwind_sweep_state *s)
{
	return s->rsp_moved && !s->frame;
}

static int32_t old_at(const struct unwind_sweep_state *s)
{
	return s->depth >> OLD_DEPTH_BITS;
}

static void set_old_at(struct unwind_sweep_state *s, int32_t at)
{
	s->depth = (uint16_t)((s->depth & OLD_DEPTH_MAX) | (uint32_t)at << OLD_DEPTH_BITS);
}

static bool is_old_in(const struct unwind_sweep_state *s, uint8_t reg)
{
	return is_aligned(s) && old_at(s) == OLD_AT_MAX + 1 + reg;
}

static bool is_old_at(const struct unwind_sweep_state *s, int32_t value)
{
	return is_aligned(s) && value >= 0 && !(value % WORD) && old_at(s) == value / WORD;
}

/* True if @insn restores the old rsp. */
static bool is_old_from(const struct unwind_sweep_state *s, const struct x86_insn *insn)
{
	return insn->kind == X86_RSP_LOAD ? is_old_at(s, insn->value) : is_old_in(s, insn->reg);
}

/* rsp = rsp + @value */
static void move_from_old(struct unwind_sweep_state *s, int32_t value)
{
	int32_t at = old_at(s) - value / WORD;

	if (old_at(s) > OLD_AT_MAX)
		return;
	if (value % WORD || at < 0 || at > OLD_AT_MAX)
		lose(s);
	else
		set_old_at(s, at);
}

static void keep_old(struct unwind_sweep_state *s, uint8_t reg)
{
	if (s->frame || s->rsp_moved || s->depth > OLD_DEPTH_MAX)
		return;
	s->rsp_moved = 1;
	set_old_at(s, OLD_AT_MAX + 1 + reg);
}

static void store_old(struct unwind_sweep_state *s, const struct x86_insn *insn)
{
	if (is_old_in(s, insn->reg) && insn->value >= 0 && !(insn->value % WORD) &&
	    insn->value / WORD <= OLD_AT_MAX)
		set_old_at(s, insn->value / WORD);
}

static void restore_old(struct unwind_sweep_state *s)
{
	s->rsp_moved = 0;
	s->depth &= OLD_DEPTH_MAX;
}

/* ---- the depth ---- */

/* The word at rsp + @value, counted from the CFA down. */
static int64_t slot_at(const struct unwind_sweep_state *s, int32_t value)
{
	return (int64_t)s->depth + 1 - value / WORD;
}

/* A function has restored its registers when it removes the words where they were saved. */
static void set_depth(struct unwind_sweep_state *s, int64_t depth)
{
	if (depth < 0 || depth > UNWIND_SWEEP_DEPTH_MAX) {
		lose(s);
		return;
	}
	s->depth = (uint16_t)depth;
	if (!s->frame && s->rbp > slot_at(s, 0))
		s->rbp = 0;
	if (s->rbx > slot_at(s, 0))
		s->rbx = 0;
}

/* The first time that a function stores rbp or rbx, the value is its caller's. */
static void note_saved(struct unwind_sweep_state *s, uint8_t reg, int64_t slot)
{
	if (slot < 2 || slot > UNWIND_SWEEP_SLOT_MAX)
		return;
	if (reg == X86_RBP && !s->rbp)
		s->rbp = slot & UNWIND_SWEEP_SLOT_MAX;
	if (reg == X86_RBX && !s->rbx)
		s->rbx = slot & UNWIND_SWEEP_SLOT_MAX;
}

static void push(struct unwind_sweep_state *s, uint8_t reg)
{
	if (is_aligned(s))
		move_from_old(s, -WORD);
	if (s->rsp_moved || s->lost)
		return;
	set_depth(s, s->depth + 1);
	if (!s->lost)
		note_saved(s, reg, slot_at(s, 0));
}

static void pop(struct unwind_sweep_state *s, uint8_t reg)
{
	uint32_t slot = s->depth + 1u;

	if (is_aligned(s)) {
		move_from_old(s, WORD);
		return;
	}
	if (reg == X86_RBP)
		s->frame = 0;
	if (s->rsp_moved) {
		if (!s->frame)
			lose(s);
		return;
	}
	if (reg == X86_RBP && s->rbp == slot)
		s->rbp = 0;
	if (reg == X86_RBX && s->rbx == slot)
		s->rbx = 0;
	set_depth(s, (int64_t)s->depth - 1);
}

/* *(rsp + value) = reg: assembly may save registers by moves, before or after it moves rsp. */
static void store(struct unwind_sweep_state *s, const struct x86_insn *insn)
{
	if (is_aligned(s))
		store_old(s, insn);
	else if (!s->rsp_moved && insn->value >= -RED_ZONE && !(insn->value % WORD))
		note_saved(s, insn->reg, slot_at(s, insn->value));
}

/* rsp = rbp + @value */
static void rsp_from_rbp(struct unwind_sweep_state *s, int32_t value)
{
	if (!s->frame || value % WORD) {
		lose(s);
		return;
	}
	s->rsp_moved = 0;
	set_depth(s, (int64_t)s->rbp - 1 - value / WORD);
}

static void rsp_add(struct unwind_sweep_state *s, int32_t value)
{
	if (is_aligned(s))
		move_from_old(s, value);
	else if (s->rsp_moved)
		return;
	else if (value % WORD)
		lose(s);
	else
		set_depth(s, (int64_t)s->depth - value / WORD);
}

/* rbp stops being the frame pointer. */
static void rbp_lost(struct unwind_sweep_state *s)
{
	if (is_aligned(s))
		return;
	s->frame = 0;
	if (s->rsp_moved)
		lose(s);
}

/* rsp gets a value that only rbp can replace. */
static void rsp_lost(struct unwind_sweep_state *s)
{
	s->rsp_moved = s->frame;
	if (!s->frame)
		lose(s);
}

void unwind_sweep_step(struct unwind_sweep_state *s, const struct x86_insn *insn)
{
	s->start = s->returns = 0;
	if (s->lost)
		return;
	switch (insn->kind) {
	case X86_PUSH:
		push(s, insn->reg);
		break;
	case X86_POP:
		pop(s, insn->reg);
		break;
	case X86_RSP_ADD:
		rsp_add(s, insn->value);
		break;
	case X86_RSP_FROM_RBP:
		rsp_from_rbp(s, insn->value);
		break;
	case X86_RBP_FROM_RSP:
		rbp_lost(s);
		if (!s->lost && !s->rsp_moved && s->rbp &&
		    ((int32_t)s->depth + 1 - (int32_t)s->rbp) * WORD == insn->value)
			s->frame = 1;
		break;
	case X86_RBP_LOST:
		rbp_lost(s);
		break;
	case X86_REG_FROM_RSP:
		keep_old(s, insn->reg);
		break;
	case X86_STORE:
		store(s, insn);
		break;
	case X86_RSP_FROM_REG:
	case X86_RSP_LOAD:
		if (is_old_from(s, insn))
			restore_old(s);
		else
			rsp_lost(s);
		break;
	case X86_RSP_ALIGN:
		if (!is_aligned(s) || old_at(s) <= OLD_AT_MAX)
			rsp_lost(s);
		break;
	case X86_RSP_LOST:
		rsp_lost(s);
		break;
	case X86_LEAVE:
		rsp_from_rbp(s, 0);
		if (!s->lost)
			pop(s, X86_RBP);
		break;
	}
}

/* ---- rules ---- */

static void saved(uint32_t slot, uint8_t *how, int16_t *off)
{
	*how = slot ? UNWIND_SAVED_CFA : UNWIND_SAVED_SAME;
	*off = (int16_t)(-WORD * (int)slot);
}

static void cfa_of_old(const struct unwind_sweep_state *s, struct unwind_rule *rule)
{
	/* DWARF's numbers of the processor's registers 0 to 7; the others are the same */
	static const uint8_t numbers[8] = { 0, 2, 1, 3, 7, 6, 4, 5 };
	int16_t off = (int16_t)(((s->depth & OLD_DEPTH_MAX) + 1) * WORD);
	int32_t at = old_at(s), reg = at - OLD_AT_MAX - 1;

	if (at <= OLD_AT_MAX) {
		rule->cfa = UNWIND_CFA_SP_DEREF;
		rule->cfa_off = at * WORD;
		rule->cfa_add = off;
	} else {
		rule->cfa = reg == X86_RBX ? UNWIND_CFA_AUX_OFF : UNWIND_CFA_REG;
		rule->cfa_reg = reg == X86_RBX ? 0 : (uint8_t)(reg < 8 ? numbers[reg] : reg);
		rule->cfa_off = off;
	}
}

struct unwind_rule unwind_sweep_rule(const struct unwind_sweep_state *s)
{
	struct unwind_rule rule = { .cfa = UNWIND_CFA_NONE };

	if (!s->seen || s->lost)
		return rule;
	if (is_aligned(s)) {
		cfa_of_old(s, &rule);
	} else {
		rule.cfa = s->frame ? UNWIND_CFA_FP_OFF : UNWIND_CFA_SP_OFF;
		rule.cfa_off = (int32_t)(s->frame ? s->rbp : s->depth + 1) * WORD;
		rule.cfa_reg = UNWIND_SWEPT;
	}
	rule.ra_off = -WORD;
	saved(s->rbp, &rule.fp, &rule.fp_off);
	saved(s->rbx, &rule.aux, &rule.aux_off);
	return rule;
}
