/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CFA program changes one row and now and then advances the address from which on the row holds.
 * The machine's state is that row, an address and a stack of remembered rows. Rules of registers
 * that are not tracked are skipped.
 */
#include "elf/cfi_program.h"

#include <errno.h>

#include "bpf/arch/regs.h"

enum {
	CFA_ADVANCE_LOC = 0x40, /* in the high two bits of the opcode, as the next two */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_MIPS_ADVANCE_LOC8 = 0x1d,
	CFA_GNU_WINDOW_SAVE = 0x2d,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

struct program {
	struct eh_cursor c;
	const struct cfi_common *common;
	struct cfi_state st;
	int64_t cfa_off; /* offset of the last register + offset */
	uint64_t loc, end;
	cfi_row_fn fn;
	void *ctx;
	struct cfi_state stack[CFI_REMEMBER_MAX];
	unsigned int n_stack;
};

/* Where the rule of a register is stored; NULL if it is not tracked. */
static inline struct cfi_value *column_of(struct cfi_state *st, const struct cfi_common *common,
					  uint64_t reg)
{
	if (reg == common->ra_reg)
		return &st->col[CFI_RA];
	switch (reg) {
	case UREG_EH_DATA:
		return &st->col[CFI_EH_DATA];
	case UREG_AUX:
		return &st->col[CFI_AUX];
	case UREG_FP:
		return &st->col[CFI_FP];
	case UREG_SP:
		return &st->col[CFI_SP];
	}
	return NULL;
}

static void set_column(struct program *pg, uint64_t reg, struct cfi_value v)
{
	struct cfi_value *col = column_of(&pg->st, pg->common, reg);

	if (col)
		*col = v;
}

/*
 * Operands that do not fit become CFI_OUT_OF_RANGE: the row then has no usable rule, but the
 * function's other rows do.
 */
static inline struct cfi_value value_of(enum cfi_how how, uint64_t reg, int64_t off)
{
	if (reg > UINT16_MAX || off < INT32_MIN || off > INT32_MAX)
		return (struct cfi_value){ .how = CFI_OUT_OF_RANGE };
	return (struct cfi_value){ .how = (uint16_t)how,
				   .reg = (uint16_t)reg,
				   .off = (int32_t)off };
}

/* Converts an offset in units of the CIE's data alignment to bytes. */
static int64_t factored(const struct program *pg, int64_t n)
{
	int64_t v;

	return __builtin_mul_overflow(n, pg->common->data_align, &v) ? INT64_MAX : v;
}

static inline void set_offset(struct program *pg, uint64_t reg, uint64_t n)
{
	struct cfi_value *col = column_of(&pg->st, pg->common, reg);

	if (col)
		*col = value_of(CFI_OFFSET, 0, factored(pg, (int64_t)n));
}

/*
 * An expression is not evaluated here. The value holds the offset of its length in the section,
 * from which the consumer reads it.
 */
static struct cfi_value take_expression(struct program *pg, enum cfi_how how)
{
	uint64_t off = eh_cursor_off(&pg->c);

	eh_take(&pg->c, eh_take_uleb(&pg->c));
	return value_of(how, 0, (int64_t)off);
}

/* Ends the current row at @to. Returns the consumer's result; 0 if the row is empty. */
static inline int advance(struct program *pg, uint64_t to)
{
	uint64_t from = pg->loc;

	if (to <= from)
		return 0;
	pg->loc = to;
	if (from >= pg->end || !pg->fn)
		return 0;
	return pg->fn(pg->ctx, from, to < pg->end ? to : pg->end, &pg->st);
}

/* An address that would overflow ends the function, like one beyond its end. */
static inline int advance_by(struct program *pg, uint64_t delta)
{
	uint64_t to;

	if (__builtin_mul_overflow(delta, pg->common->code_align, &delta) ||
	    __builtin_add_overflow(pg->loc, delta, &to))
		to = UINT64_MAX;
	return advance(pg, to);
}

static int set_loc(struct program *pg)
{
	uint64_t to;

	if (!eh_take_address(&pg->c, pg->common->encoding, &to) || to < pg->loc)
		return -EBADMSG;
	return advance(pg, to);
}

/* Restores the rule that the CIE gave a register. */
static void restore(struct program *pg, uint64_t reg)
{
	struct cfi_value *col = column_of(&pg->st, pg->common, reg);

	if (col)
		*col = pg->common->initial.col[col - pg->st.col];
}

/*
 * Compilers nest remembered states one or two deep; the limit bounds the memory of a hostile
 * program.
 */
static int remember_state(struct program *pg)
{
	if (pg->n_stack == CFI_REMEMBER_MAX)
		return -EBADMSG;
	pg->stack[pg->n_stack++] = pg->st;
	return 0;
}

/*
 * Restores the CFA as well. DWARF 5, 6.4.2.2 does not mention the CFA, but compilers and other
 * unwinders treat it as part of the state.
 */
static int restore_state(struct program *pg)
{
	if (!pg->n_stack)
		return -EBADMSG;
	pg->st = pg->stack[--pg->n_stack];
	if (pg->st.cfa.how == CFI_REGISTER)
		pg->cfa_off = pg->st.cfa.off;
	return 0;
}

/*
 * Changes one half of a register + offset (def_cfa_register and def_cfa_offset). After an
 * expression the register is combined with the last offset (as in libgcc; libgcrypt's code relies
 * on it), and an offset alone has no effect yet.
 */
static int define_half_cfa(struct program *pg, uint8_t op)
{
	struct cfi_value *cfa = &pg->st.cfa;
	uint64_t reg = cfa->reg;

	if (op == CFA_DEF_CFA_REGISTER)
		reg = eh_take_uleb(&pg->c);
	else if (op == CFA_DEF_CFA_OFFSET)
		pg->cfa_off = (int64_t)eh_take_uleb(&pg->c);
	else
		pg->cfa_off = factored(pg, eh_take_sleb(&pg->c));
	if (cfa->how == CFI_UNSPECIFIED)
		return -EBADMSG;
	if (cfa->how == CFI_REGISTER || op == CFA_DEF_CFA_REGISTER)
		*cfa = value_of(CFI_REGISTER, reg, pg->cfa_off);
	return 0;
}

static void define_cfa(struct program *pg, uint64_t reg, int64_t off)
{
	pg->cfa_off = off;
	pg->st.cfa = value_of(CFI_REGISTER, reg, off);
}

/* Executes register rules with two operands, of which the first is the register. */
static int register_rule(struct program *pg, uint8_t op)
{
	uint64_t reg = eh_take_uleb(&pg->c);
	struct cfi_value v;

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		v = value_of(CFI_OFFSET, 0, factored(pg, (int64_t)eh_take_uleb(&pg->c)));
		break;
	case CFA_OFFSET_EXTENDED_SF:
		v = value_of(CFI_OFFSET, 0, factored(pg, eh_take_sleb(&pg->c)));
		break;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		v = value_of(CFI_OFFSET, 0, factored(pg, (int64_t)-eh_take_uleb(&pg->c)));
		break;
	case CFA_VAL_OFFSET:
		v = value_of(CFI_VAL_OFFSET, 0, factored(pg, (int64_t)eh_take_uleb(&pg->c)));
		break;
	case CFA_VAL_OFFSET_SF:
		v = value_of(CFI_VAL_OFFSET, 0, factored(pg, eh_take_sleb(&pg->c)));
		break;
	case CFA_REGISTER:
		v = value_of(CFI_REGISTER, eh_take_uleb(&pg->c), 0);
		break;
	case CFA_EXPRESSION:
		v = take_expression(pg, CFI_EXPR);
		break;
	case CFA_VAL_EXPRESSION:
		v = take_expression(pg, CFI_VAL_EXPR);
		break;
	default:
		return -EBADMSG;
	}
	set_column(pg, reg, v);
	return 0;
}

/* Executes the opcodes that do not use the high two bits. */
static int extended_insn(struct program *pg, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case CFA_NOP:
		return 0;
	case CFA_SET_LOC:
		return set_loc(pg);
	case CFA_ADVANCE_LOC1:
		return advance_by(pg, eh_take_uint(&pg->c, 1));
	case CFA_ADVANCE_LOC2:
		return advance_by(pg, eh_take_uint(&pg->c, 2));
	case CFA_ADVANCE_LOC4:
		return advance_by(pg, eh_take_uint(&pg->c, 4));
	case CFA_MIPS_ADVANCE_LOC8:
		return advance_by(pg, eh_take_uint(&pg->c, 8));
	case CFA_RESTORE_EXTENDED:
		restore(pg, eh_take_uleb(&pg->c));
		return 0;
	case CFA_UNDEFINED:
		set_column(pg, eh_take_uleb(&pg->c), value_of(CFI_UNDEFINED, 0, 0));
		return 0;
	case CFA_SAME_VALUE:
		set_column(pg, eh_take_uleb(&pg->c), value_of(CFI_SAME, 0, 0));
		return 0;
	case CFA_REMEMBER_STATE:
		return remember_state(pg);
	case CFA_RESTORE_STATE:
		return restore_state(pg);
	case CFA_DEF_CFA:
		reg = eh_take_uleb(&pg->c);
		define_cfa(pg, reg, (int64_t)eh_take_uleb(&pg->c));
		return 0;
	case CFA_DEF_CFA_SF:
		reg = eh_take_uleb(&pg->c);
		define_cfa(pg, reg, factored(pg, eh_take_sleb(&pg->c)));
		return 0;
	case CFA_DEF_CFA_REGISTER:
	case CFA_DEF_CFA_OFFSET:
	case CFA_DEF_CFA_OFFSET_SF:
		return define_half_cfa(pg, op);
	case CFA_DEF_CFA_EXPRESSION:
		pg->st.cfa = take_expression(pg, CFI_EXPR);
		return 0;
	case CFA_GNU_ARGS_SIZE:
		eh_take_uleb(&pg->c);
		return 0;
	case CFA_GNU_WINDOW_SAVE: /* SPARC; on arm64 the return address is signed */
		return 0;
	}
	return register_rule(pg, op);
}

/*
 * The high two bits select three opcodes with an operand in the low six bits; all others are
 * extended (DWARF 5, 7.24).
 */
static int insn(struct program *pg, uint8_t op)
{
	switch (op & 0xc0) {
	case CFA_ADVANCE_LOC:
		return advance_by(pg, op & 0x3f);
	case CFA_OFFSET:
		set_offset(pg, op & 0x3f, eh_take_uleb(&pg->c));
		return 0;
	case CFA_RESTORE:
		restore(pg, op & 0x3f);
		return 0;
	}
	return extended_insn(pg, op);
}

/*
 * Nine of ten instructions are one of three, with an operand of one byte at most: these are
 * executed in place, the others in insn().
 */
static inline int program_run(struct program *pg)
{
	struct eh_cursor *c = &pg->c;
	const uint8_t *p = c->p, *end = c->end;
	int r = 0;

	while (!r && p != end && pg->loc < pg->end) {
		uint8_t op = *p++;
		bool short_operand = p != end && *p < 0x80;

		if ((op & 0xc0) == CFA_ADVANCE_LOC) {
			r = advance_by(pg, op & 0x3f);
		} else if ((op & 0xc0) == CFA_OFFSET && short_operand) {
			set_offset(pg, op & 0x3f, *p++);
		} else if (op == CFA_DEF_CFA_OFFSET && short_operand &&
			   pg->st.cfa.how == CFI_REGISTER) {
			pg->cfa_off = pg->st.cfa.off = *p++;
		} else {
			c->p = p;
			r = insn(pg, op);
			p = c->p;
			if (c->bad)
				return -EBADMSG;
		}
	}
	return r;
}

/*
 * Runs the CIE's instructions, which have no address: their result is the state in which every
 * function starts.
 */
int cfi_program_init(struct cfi_common *common, const struct eh_cursor *insns)
{
	struct program pg = { .c = *insns, .common = common, .end = UINT64_MAX };
	int r = program_run(&pg);

	if (!r)
		common->initial = pg.st;
	return r;
}

int cfi_program_run(const struct cfi_common *common, const struct eh_frame_source *src,
		    const struct eh_frame_fde *fde, cfi_row_fn fn, void *ctx)
{
	struct program pg; /* not initialized: the stack of states needs no zeroing */
	int r;

	pg.c.src = src;
	pg.c.p = src->span.data + fde->insns;
	pg.c.end = pg.c.p + fde->insns_len;
	pg.c.bad = false;
	pg.common = common;
	pg.st = common->initial;
	pg.cfa_off = common->initial.cfa.how == CFI_REGISTER ? common->initial.cfa.off : 0;
	pg.loc = fde->start;
	pg.end = fde->start + fde->len;
	pg.fn = fn;
	pg.ctx = ctx;
	pg.n_stack = 0;
	r = program_run(&pg);
	return r ? r : advance(&pg, pg.end);
}
