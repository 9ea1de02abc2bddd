/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What single instructions do to the stack. What cannot be told (rsp from
 * elsewhere without a frame pointer, more pops than pushes) loses the state.
 */
#include "unwind/sweep_step.h"

#include "unwind/x86_insn.h"

enum { WORD = 8, SLOT_MAX = 31, DEPTH_MAX = 0xffff };

static void lose(struct unwind_sweep_state *s)
{
	*s = (struct unwind_sweep_state){ .seen = 1, .lost = 1 };
}

static void set_depth(struct unwind_sweep_state *s, int64_t depth)
{
	if (depth < 0 || depth > DEPTH_MAX)
		lose(s);
	else
		s->depth = (uint16_t)depth;
}

static void push(struct unwind_sweep_state *s, uint8_t reg)
{
	if (s->rsp_moved)
		return;
	set_depth(s, s->depth + 1);
	if (s->lost || s->depth + 1 > SLOT_MAX)
		return;
	if (reg == X86_RBP && !s->rbp)
		s->rbp = (s->depth + 1) & SLOT_MAX;
	if (reg == X86_RBX && !s->rbx)
		s->rbx = (s->depth + 1) & SLOT_MAX;
}

static void pop(struct unwind_sweep_state *s, uint8_t reg)
{
	uint32_t slot = s->depth + 1u;

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

/* rsp = rbp + @value */
static void rsp_from_rbp(struct unwind_sweep_state *s, int32_t value)
{
	if (!s->frame || value % WORD) {
		lose(s);
		return;
	}
	s->rsp_moved = 0;
	set_depth(s, 1 - value / WORD);
}

static void rsp_add(struct unwind_sweep_state *s, int32_t value)
{
	if (s->rsp_moved)
		return;
	if (value % WORD)
		lose(s);
	else
		set_depth(s, (int64_t)s->depth - value / WORD);
}

/* rbp no longer points to the frame. */
static void rbp_lost(struct unwind_sweep_state *s)
{
	s->frame = 0;
	if (s->rsp_moved)
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
		if (!s->lost && s->rbp == 2 && s->depth * WORD == (uint32_t)insn->value + WORD)
			s->frame = 1;
		break;
	case X86_RBP_LOST:
		rbp_lost(s);
		break;
	case X86_RSP_LOST:
		s->rsp_moved = s->frame;
		if (!s->frame)
			lose(s);
		break;
	case X86_LEAVE:
		rsp_from_rbp(s, 0);
		if (!s->lost)
			pop(s, X86_RBP);
		break;
	}
}
