/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/sweep_step.h"

#include "elf/x86_insn.h"
#include "tests/x86_64.h"

enum { WORDS = 4096, TOP = WORDS - 8, RAX = 0, R10 = 10, R11 = 11, N_REGS = 16 };

/*
 * A processor with a stack of words, which executes what the sweep analyses. At a function's start
 * rsp is one word below the CFA, and rbp and rbx have the values of the caller.
 */
struct machine {
	uint64_t regs[N_REGS]; /* rsp and copies of it are indexes of bytes in the stack */
	uint64_t stack[WORDS];
	struct unwind_sweep_state s;
	uint32_t saved_rbp, saved_rbx; /* words below the CFA where they are saved; 0: not saved */
};

enum { CFA = 8 * TOP };

static const uint64_t callers_rbp = 0xb0b0b0b0, callers_rbx = 0xb1b1b1b1;

static void begin(struct machine *m)
{
	memset(m, 0, sizeof(*m));
	m->s.seen = 1;
	m->regs[X86_RSP] = CFA - 8;
	m->regs[X86_RBP] = callers_rbp;
	m->regs[X86_RBX] = callers_rbx;
}

static uint64_t *word(struct machine *m, uint64_t at)
{
	assert_true(at % 8 == 0 && at / 8 < WORDS);
	return &m->stack[at / 8];
}

static uint32_t depth_of(const struct machine *m)
{
	return (uint32_t)((CFA - m->regs[X86_RSP]) / 8);
}

static void execute(struct machine *m, const struct x86_insn *i)
{
	uint64_t *rsp = &m->regs[X86_RSP];

	switch (i->kind) {
	case X86_PUSH:
		*rsp -= 8;
		*word(m, *rsp) = m->regs[i->reg];
		break;
	case X86_POP:
		m->regs[i->reg] = *word(m, *rsp);
		*rsp += 8;
		break;
	case X86_RSP_ADD:
		*rsp += (uint64_t)(int64_t)i->value;
		break;
	case X86_RSP_FROM_RBP:
		*rsp = m->regs[X86_RBP] + (uint64_t)(int64_t)i->value;
		break;
	case X86_RBP_FROM_RSP:
		m->regs[X86_RBP] = *rsp + (uint64_t)(int64_t)i->value;
		break;
	case X86_REG_FROM_RSP:
		m->regs[i->reg] = *rsp;
		break;
	case X86_RSP_FROM_REG:
		*rsp = m->regs[i->reg];
		break;
	case X86_RSP_ALIGN:
		*rsp &= ~63ULL;
		break;
	case X86_STORE:
		*word(m, *rsp + (uint64_t)(int64_t)i->value) = m->regs[i->reg];
		break;
	case X86_RSP_LOAD:
		*rsp = *word(m, *rsp + (uint64_t)(int64_t)i->value);
		break;
	case X86_RSP_LOST:
		*rsp -= 8 * (1 + (uint64_t)random() % 20);
		break;
	case X86_RBP_LOST:
		m->regs[X86_RBP] = (uint64_t)random();
		break;
	case X86_LEAVE:
		*rsp = m->regs[X86_RBP] + 8;
		m->regs[X86_RBP] = *word(m, *rsp - 8);
		break;
	default:
		break;
	}
}

static uint64_t restored(struct machine *m, uint8_t how, int16_t off, uint64_t now)
{
	return how == UNWIND_SAVED_CFA ? *word(m, (uint64_t)(CFA + off)) : now;
}

/* Compares the rule of the state with the processor. Returns whether there is a rule. */
static bool check(struct machine *m)
{
	static const uint8_t numbers[] = { [0] = RAX, [10] = R10, [11] = R11 };
	struct unwind_rule r = unwind_sweep_rule(&m->s);
	uint64_t rsp = m->regs[X86_RSP], cfa = 0;

	switch (r.cfa) {
	case UNWIND_CFA_NONE:
		return false;
	case UNWIND_CFA_SP_OFF:
		cfa = rsp + (uint64_t)(int64_t)r.cfa_off;
		break;
	case UNWIND_CFA_FP_OFF:
		cfa = m->regs[X86_RBP] + (uint64_t)(int64_t)r.cfa_off;
		break;
	case UNWIND_CFA_AUX_OFF:
		cfa = m->regs[X86_RBX] + (uint64_t)(int64_t)r.cfa_off;
		break;
	case UNWIND_CFA_REG:
		cfa = m->regs[numbers[r.cfa_reg]] + (uint64_t)(int64_t)r.cfa_off;
		break;
	case UNWIND_CFA_SP_DEREF:
		cfa = *word(m, rsp + (uint64_t)(int64_t)r.cfa_off) + (uint64_t)(int64_t)r.cfa_add;
		break;
	default:
		fail();
	}
	assert_int_equal(cfa, CFA);
	assert_int_equal(r.ra_off, -8);
	assert_int_equal(restored(m, r.fp, r.fp_off, m->regs[X86_RBP]), callers_rbp);
	assert_int_equal(restored(m, r.aux, r.aux_off, m->regs[X86_RBX]), callers_rbx);
	return true;
}

static bool step(struct machine *m, uint8_t kind, uint8_t reg, int32_t value)
{
	const struct x86_insn insn = { .len = 1, .kind = kind, .reg = reg, .value = value };

	execute(m, &insn);
	unwind_sweep_step(&m->s, &insn);
	return check(m);
}

/* ---- functions as compilers make them --------------------------------------------------- */

/* Pushes rbp or rbx, or anything else. */
static void push(struct machine *m)
{
	uint8_t reg = ((uint8_t[]){ X86_RBP, X86_RBX, RAX })[random() % 3];

	if (reg == X86_RBP && !m->saved_rbp)
		m->saved_rbp = depth_of(m) + 1;
	if (reg == X86_RBX && !m->saved_rbx)
		m->saved_rbx = depth_of(m) + 1;
	assert_true(step(m, X86_PUSH, reg, 0));
}

/* Pops what is on top: a saved register into itself, anything else into rax. */
static void pop(struct machine *m)
{
	uint32_t depth = depth_of(m);
	uint8_t reg = RAX;

	if (depth == 1)
		return;
	if (m->saved_rbp == depth) {
		reg = X86_RBP;
		m->saved_rbp = 0;
	} else if (m->saved_rbx == depth) {
		reg = X86_RBX;
		m->saved_rbx = 0;
	}
	assert_true(step(m, X86_POP, reg, 0));
}

/* Saves rbp or rbx by a move to a word that holds no other saved register. */
static void store(struct machine *m)
{
	bool is_rbp = random() % 2;
	uint32_t *saved = is_rbp ? &m->saved_rbp : &m->saved_rbx;
	uint32_t other = is_rbp ? m->saved_rbx : m->saved_rbp, depth = depth_of(m), slot;

	if (*saved || depth < 2)
		return;
	slot = 2 + (uint32_t)random() % (depth - 1);
	if (slot == other)
		return;
	*saved = slot;
	assert_true(step(m, X86_STORE, is_rbp ? X86_RBP : X86_RBX, 8 * (int32_t)(depth - slot)));
}

/* Moves rsp, at most up to the last saved register. */
static void move(struct machine *m)
{
	uint32_t saved = m->saved_rbp > m->saved_rbx ? m->saved_rbp : m->saved_rbx;
	uint32_t room = depth_of(m) - (saved ? saved : 1);
	int32_t words = random() % 2 ? -(int32_t)(random() % 10)
				     : (int32_t)((uint32_t)random() % (room + 1));

	assert_true(step(m, X86_RSP_ADD, 0, 8 * words));
}

static void random_functions_have_the_rules_of_a_processor(void **state)
{
	static struct machine m;

	srandom(21);
	for (int round = 0; round < 3000; round++) {
		begin(&m);
		/* Registers are saved in the first 31 words only, which a function has them in. */
		for (int i = 0; i < 60; i++) {
			if (depth_of(&m) > 25)
				pop(&m);
			else if (random() % 3)
				push(&m);
			else if (random() % 3 == 0)
				store(&m);
			else if (random() % 2)
				pop(&m);
			else
				move(&m);
		}
	}
}

static void a_frame_pointer_survives_any_move_of_rsp(void **state)
{
	static struct machine m;

	srandom(22);
	for (int round = 0; round < 2000; round++) {
		int n_before = (int)(random() % 3), n_after = (int)(random() % 6);

		begin(&m);
		for (int i = 0; i < n_before; i++)
			assert_true(step(&m, X86_PUSH, RAX, 0));
		assert_true(step(&m, X86_PUSH, X86_RBP, 0));
		assert_true(step(&m, X86_RBP_FROM_RSP, 0, 0));
		assert_true(step(&m, X86_PUSH, X86_RBX, 0));
		for (int i = 0; i < n_after; i++) {
			static const uint8_t kinds[] = { X86_RSP_LOST, X86_RSP_ADD, X86_PUSH,
							 X86_RSP_ALIGN };

			assert_true(step(&m, kinds[random() % 4], RAX, -16));
			assert_int_equal(unwind_sweep_rule(&m.s).cfa, UNWIND_CFA_FP_OFF);
		}
		if (round % 2) {
			assert_true(step(&m, X86_RSP_FROM_RBP, 0, -8));
			assert_true(step(&m, X86_POP, X86_RBX, 0));
			assert_true(step(&m, X86_POP, X86_RBP, 0));
		} else {
			assert_true(step(&m, X86_LEAVE, 0, 0));
		}
		assert_int_equal(unwind_sweep_rule(&m.s).cfa, UNWIND_CFA_SP_OFF);
	}
}

/* SIMD assembly: mov %rsp,%r11; and $-64,%rsp; mov %r11,N(%rsp); ...; mov N(%rsp),%rsp. */
static void an_aligned_stack_keeps_the_old_rsp_in_a_word(void **state)
{
	static struct machine m;

	srandom(23);
	for (int round = 0; round < 2000; round++) {
		uint8_t reg = ((uint8_t[]){ RAX, R10, R11 })[random() % 3];
		int32_t at = 8 * (int32_t)(random() % 40), more = 8 * (int32_t)(random() % 8);

		begin(&m);
		for (int i = (int)(random() % 3); i > 0; i--)
			push(&m);
		assert_true(step(&m, X86_REG_FROM_RSP, reg, 0));
		assert_true(step(&m, X86_RSP_ADD, 0, -512));
		assert_true(step(&m, X86_RSP_ALIGN, 0, 0));
		assert_true(step(&m, X86_STORE, reg, at));
		assert_true(step(&m, X86_RSP_ADD, 0, -more));
		assert_true(step(&m, X86_PUSH, reg == RAX ? R10 : RAX, 0));
		assert_true(step(&m, X86_POP, RAX, 0));
		if (round % 2)
			assert_true(step(&m, X86_RSP_LOAD, 0, at + more));
		else {
			assert_true(step(&m, X86_RSP_ADD, 0, more));
			assert_true(step(&m, X86_RSP_LOAD, 0, at));
		}
		assert_int_equal(unwind_sweep_rule(&m.s).cfa, UNWIND_CFA_SP_OFF);
	}
}

static void the_old_rsp_may_stay_in_a_register(void **state)
{
	static struct machine m;

	begin(&m);
	assert_true(step(&m, X86_REG_FROM_RSP, R11, 0));
	assert_true(step(&m, X86_RSP_ALIGN, 0, 0));
	assert_true(step(&m, X86_RSP_ADD, 0, -64));
	assert_int_equal(unwind_sweep_rule(&m.s).cfa, UNWIND_CFA_REG);
	assert_true(step(&m, X86_RSP_FROM_REG, R11, 0));
	assert_int_equal(unwind_sweep_rule(&m.s).cfa, UNWIND_CFA_SP_OFF);
}

static void load(struct machine *m, uint8_t reg, int32_t at)
{
	assert_true(step(m, reg == X86_RBP ? X86_RBP_LOST : X86_OTHER, 0, 0));
	m->regs[reg] = *word(m, m->regs[X86_RSP] + (uint64_t)(int64_t)at);
	assert_true(check(m));
}

/*
 * OpenBLAS: sub $96,%rsp; mov %rbx,(%rsp); mov %rbp,8(%rsp); mov %rsp,%rbx; sub $8192,%rsp;
 * and $-4096,%rsp; ...; mov %rbx,%rsp; mov (%rsp),%rbx; mov 8(%rsp),%rbp; add $96,%rsp; ret. Old
 * compilers save registers before they move rsp.
 */
static void registers_may_be_saved_by_moves(void **state)
{
	static struct machine m;

	for (int before = 0; before < 2; before++) {
		const int32_t at = before ? -96 : 0;

		begin(&m);
		if (!before)
			assert_true(step(&m, X86_RSP_ADD, 0, -96));
		assert_true(step(&m, X86_STORE, X86_RBX, at));
		assert_true(step(&m, X86_STORE, X86_RBP, at + 8));
		if (before)
			assert_true(step(&m, X86_RSP_ADD, 0, -96));
		assert_true(step(&m, X86_REG_FROM_RSP, X86_RBX, 0));
		assert_true(step(&m, X86_RSP_ADD, 0, -8192));
		assert_true(step(&m, X86_RSP_ALIGN, 0, 0));
		assert_true(step(&m, X86_RBP_LOST, 0, 0));
		assert_int_equal(unwind_sweep_rule(&m.s).cfa, UNWIND_CFA_AUX_OFF);
		assert_true(step(&m, X86_RSP_FROM_REG, X86_RBX, 0));
		load(&m, X86_RBX, 0);
		load(&m, X86_RBP, 8);
		assert_true(step(&m, X86_RSP_ADD, 0, 96));
		/* the words are below rsp, where a signal may overwrite them */
		assert_int_equal(unwind_sweep_rule(&m.s).fp, UNWIND_SAVED_SAME);
		assert_int_equal(unwind_sweep_rule(&m.s).aux, UNWIND_SAVED_SAME);
	}
}

/* ---- what is not understood -------------------------------------------------------------- */

static struct unwind_sweep_state after(struct unwind_sweep_state s, uint8_t kind, uint8_t reg,
				       int32_t value)
{
	const struct x86_insn insn = { .len = 1, .kind = kind, .reg = reg, .value = value };

	unwind_sweep_step(&s, &insn);
	return s;
}

static void effects_that_are_not_understood_lose_the_state(void **state)
{
	static const struct {
		uint32_t depth;
		uint8_t kind;
		int32_t value;
	} cases[] = {
		{ 0, X86_POP, 0 },
		{ 0, X86_RSP_ADD, 8 },
		{ 0, X86_RSP_ADD, 4 },
		{ 0, X86_RSP_ADD, INT32_MIN },
		{ 5, X86_RSP_ADD, INT32_MAX - 7 },
		{ 0xffff, X86_PUSH, 0 },
		{ 0xffff, X86_RSP_ADD, -8 },
		{ 2, X86_RSP_LOST, 0 },
		{ 2, X86_RSP_ALIGN, 0 },
		{ 2, X86_RSP_FROM_RBP, -8 },
		{ 2, X86_LEAVE, 0 },
		{ 2, X86_RSP_FROM_REG, 0 },
		{ 2, X86_RSP_LOAD, 8 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct unwind_sweep_state s = { .seen = 1, .depth = cases[i].depth & 0xffff };

		s = after(s, cases[i].kind, RAX, cases[i].value);
		assert_int_equal(s.lost, 1);
		assert_int_equal(unwind_sweep_rule(&s).cfa, UNWIND_CFA_NONE);
		s = after(s, X86_PUSH, RAX, 0); /* It stays lost. */
		assert_int_equal(s.lost, 1);
	}
}

static void an_unseen_state_has_no_rule(void **state)
{
	const struct unwind_sweep_state s = { 0 };

	assert_int_equal(unwind_sweep_rule(&s).cfa, UNWIND_CFA_NONE);
}

/* The words where registers are saved have numbers of five bits. */
static void registers_that_are_saved_deep_are_not_noted(void **state)
{
	struct unwind_sweep_state s = { .seen = 1, .depth = 29 };

	s = after(s, X86_PUSH, X86_RBP, 0);
	assert_int_equal(s.rbp, 31);
	s = after(s, X86_PUSH, X86_RBX, 0);
	assert_int_equal(s.rbx, 0);
	assert_int_equal(unwind_sweep_rule(&s).aux, UNWIND_SAVED_SAME);
	assert_int_equal(unwind_sweep_rule(&s).fp_off, -8 * 31);
}

/* No sequence of instructions leads out of the fields of a state. */
static void any_instructions_leave_a_valid_state(void **state)
{
	static const int32_t values[] = { 0,         8,         -8,           16,
					  -64,       4,         2000 * 8,     -2000 * 8,
					  INT32_MAX, INT32_MIN, INT32_MAX - 7 };

	srandom(24);
	for (int round = 0; round < 20000; round++) {
		struct unwind_sweep_state s = { .seen = 1 };

		for (int i = 0; i < 20; i++) {
			struct unwind_rule r;

			s = after(s, (uint8_t)(random() % (X86_TRAP + 1)), (uint8_t)(random() % 16),
				  values[random() % 11]);
			r = unwind_sweep_rule(&s);
			assert_true(r.cfa == UNWIND_CFA_NONE || r.cfa == UNWIND_CFA_SP_OFF ||
				    r.cfa == UNWIND_CFA_FP_OFF || r.cfa == UNWIND_CFA_REG ||
				    r.cfa == UNWIND_CFA_AUX_OFF || r.cfa == UNWIND_CFA_SP_DEREF);
			assert_true(r.cfa != UNWIND_CFA_REG || r.cfa_reg < 16);
			assert_true(r.cfa_off >= 0 && r.cfa_off <= 8 * 0x10000);
		}
	}
}

TEST_GROUP_OF_X86_64(test_sweep_step, TEST(random_functions_have_the_rules_of_a_processor),
		     TEST(a_frame_pointer_survives_any_move_of_rsp),
		     TEST(an_aligned_stack_keeps_the_old_rsp_in_a_word),
		     TEST(the_old_rsp_may_stay_in_a_register),
		     TEST(registers_may_be_saved_by_moves),
		     TEST(effects_that_are_not_understood_lose_the_state),
		     TEST(an_unseen_state_has_no_rule),
		     TEST(registers_that_are_saved_deep_are_not_noted),
		     TEST(any_instructions_leave_a_valid_state))
