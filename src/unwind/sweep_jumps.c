/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Position-independent code adds a distance, which it reads from the table, to the table's address,
 * and jumps to the sum: jmp *%reg shortly after add %reg,%reg. Other indirect jumps are mostly
 * calls in tail position, after which another function follows.
 */
#include "unwind/sweep_jumps.h"

enum { NO_REGISTER = 0xff };

enum {
	SUM_MAX = 32, /* instructions between the addition and the jump */
	REX = 0x40,
	REX_MASK = 0xf0,
	REX_W = 0x48,
	REX_W_MASK = 0xf8,
	REX_R = 4,
	REX_B = 1,
	ADD_TO_RM = 0x01,
	ADD_TO_REG = 0x03,
	MODRM_REGISTERS = 0xc0,
	JUMP = 0xff,
	JUMP_MODRM = 0xe0,
};

/* Returns the register of add %reg,%reg, or NO_REGISTER for another instruction. */
static uint8_t sum_register(const uint8_t *code, size_t len)
{
	if (len != 3 || (code[0] & REX_W_MASK) != REX_W || code[2] < MODRM_REGISTERS)
		return NO_REGISTER;
	if (code[1] == ADD_TO_RM)
		return (uint8_t)((code[0] & REX_B ? 8 : 0) | (code[2] & 7));
	if (code[1] == ADD_TO_REG)
		return (uint8_t)((code[0] & REX_R ? 8 : 0) | (code[2] >> 3 & 7));
	return NO_REGISTER;
}

/* Returns the register of jmp *%reg, or NO_REGISTER; a prefix may precede. */
static uint8_t jump_register(const uint8_t *code, size_t len)
{
	bool high = len > 2 && (code[len - 3] & REX_MASK) == REX && (code[len - 3] & REX_B);

	if (len < 2 || code[len - 2] != JUMP || (code[len - 1] & 0xf8) != JUMP_MODRM)
		return NO_REGISTER;
	return (uint8_t)((high ? 8 : 0) | (code[len - 1] & 7));
}

static bool is_equal(const struct unwind_sweep_state *a, const struct unwind_sweep_state *b)
{
	return a->depth == b->depth && a->frame == b->frame && a->rsp_moved == b->rsp_moved;
}

void unwind_sweep_jumps_step(struct unwind_sweep_jumps *j, const uint8_t *code, size_t len)
{
	uint8_t reg = sum_register(code, len);

	j->n++;
	if (reg != NO_REGISTER)
		j->sums[reg] = j->n;
}

void unwind_sweep_jumps_note(struct unwind_sweep_jumps *j, const uint8_t *code, size_t len,
			     const struct unwind_sweep_state *s)
{
	uint8_t reg = jump_register(code, len);

	if (reg == NO_REGISTER || !j->sums[reg] || j->n - j->sums[reg] > SUM_MAX)
		return;
	if (s->lost || (j->state.seen && !is_equal(&j->state, s)))
		j->differ = true;
	j->state = *s;
	j->state.start = j->state.returns = 0;
}

const struct unwind_sweep_state *unwind_sweep_jumps_state(const struct unwind_sweep_jumps *j)
{
	return j->state.seen && !j->differ ? &j->state : NULL;
}
