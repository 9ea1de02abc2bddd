/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates the state of a CFA program into a rule. Nearly all rows are a register plus an offset.
 * DWARF expressions are recognized by their form, and only those that GCC, Clang, the linkers,
 * glibc and OpenSSL emit. Everything else is rejected, so that the walk ends there instead of
 * guessing.
 */
#include "unwind/cfi.h"

#include <string.h>

#include "bpf/arch/code.h"

enum {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_MUL = 0x1e,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_BREG0 = 0x70,
};

/* A DWARF expression that is parsed from its front; ok becomes false at the first mismatch. */
struct expr {
	const uint8_t *p, *end;
	bool ok;
};

static struct expr expr_of(const struct eh_frame *ef, const struct cfi_value *v)
{
	struct expr e = { .ok = true };
	size_t len;

	eh_frame_expression(ef, v, &e.p, &len);
	e.end = e.p + len;
	return e;
}

static uint8_t expr_byte(struct expr *e)
{
	if (e->p == e->end) {
		e->ok = false;
		return 0;
	}
	return *e->p++;
}

static bool expr_accept(struct expr *e, uint8_t op)
{
	if (!e->ok || e->p == e->end || *e->p != op)
		return false;
	e->p++;
	return true;
}

static void expr_expect(struct expr *e, uint8_t op)
{
	e->ok = expr_accept(e, op);
}

/* Reads a LEB128 of at most 28 bits, which is more than the size of any frame. */
static int32_t expr_leb(struct expr *e, bool is_signed)
{
	uint32_t v = 0;

	for (unsigned int shift = 0; shift < 28; shift += 7) {
		uint8_t b = expr_byte(e);

		v |= (uint32_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			if (is_signed && (b & 0x40))
				v |= -(128u << shift);
			return (int32_t)v;
		}
	}
	e->ok = false;
	return 0;
}

/* Reads DW_OP_bregN @off and returns the register's number. */
static uint8_t expr_breg(struct expr *e, int32_t *off)
{
	uint8_t reg = (uint8_t)(expr_byte(e) - OP_BREG0);

	if (reg > UREG_PC)
		e->ok = false;
	*off = expr_leb(e, true);
	return reg;
}

static bool expr_ended(const struct expr *e)
{
	return e->ok && e->p == e->end;
}

/* ld's .plt: breg7 8, breg16 0, lit15, and, litN, ge, lit3, shl, plus */
static bool cfa_plt(struct expr e, struct unwind_rule *out)
{
	int32_t off, zero;
	uint8_t n;

	if (expr_breg(&e, &off) != UREG_SP || off != 8 || expr_breg(&e, &zero) != UREG_PC || zero)
		return false;
	expr_expect(&e, OP_LIT0 + 15);
	expr_expect(&e, OP_AND);
	n = (uint8_t)(expr_byte(&e) - OP_LIT0);
	expr_expect(&e, OP_GE);
	expr_expect(&e, OP_LIT0 + 3);
	expr_expect(&e, OP_SHL);
	expr_expect(&e, OP_PLUS);
	if (!expr_ended(&e) || n > 15)
		return false;
	out->cfa = UNWIND_CFA_PLT;
	out->cfa_off = n;
	return true;
}

/* OpenSSL's bn_mul_mont: breg7 x, bregN 0, lit8, mul, plus, deref, plus_uconst y */
static bool cfa_index(struct expr e, struct unwind_rule *out)
{
	int32_t off, zero, add;
	uint8_t reg;

	if (expr_breg(&e, &off) != UREG_SP)
		return false;
	reg = expr_breg(&e, &zero);
	expr_expect(&e, OP_LIT0 + 8);
	expr_expect(&e, OP_MUL);
	expr_expect(&e, OP_PLUS);
	expr_expect(&e, OP_DEREF);
	expr_expect(&e, OP_PLUS_UCONST);
	add = expr_leb(&e, false);
	if (!expr_ended(&e) || zero || reg > UREG_MASK || add > INT16_MAX)
		return false;
	out->cfa = UNWIND_CFA_SP_INDEX;
	out->cfa_reg = reg;
	out->cfa_off = off;
	out->cfa_add = (int16_t)add;
	return true;
}

static bool cfa_register(uint16_t reg, int32_t off, struct unwind_rule *out)
{
	out->cfa_off = off;
	switch (reg) {
	case UREG_SP:
		out->cfa = UNWIND_CFA_SP_OFF;
		return true;
	case UREG_FP:
		out->cfa = UNWIND_CFA_FP_OFF;
		return true;
	case UREG_AUX:
		out->cfa = UNWIND_CFA_AUX_OFF;
		return true;
	}
	out->cfa = UNWIND_CFA_REG;
	out->cfa_reg = (uint8_t)reg;
	return reg <= UREG_MASK;
}

/* Reads DW_OP_deref and the number that DW_OP_plus_uconst adds to the word, which is optional. */
static int32_t expr_deref(struct expr *e)
{
	expr_expect(e, OP_DEREF);
	return expr_accept(e, OP_PLUS_UCONST) ? expr_leb(e, false) : 0;
}

/* OCaml's fibers: breg7 x, deref [, plus_uconst y], deref [, plus_uconst z] */
static bool cfa_deref_twice(struct expr e, struct unwind_rule *out)
{
	int32_t off, middle, add;

	if (expr_breg(&e, &off) != UREG_SP)
		return false;
	middle = expr_deref(&e);
	add = expr_deref(&e);
	if (!expr_ended(&e) || middle < 0 || middle > UINT8_MAX || add < 0 || add > INT16_MAX)
		return false;
	out->cfa = UNWIND_CFA_SP_DEREF_TWICE;
	out->cfa_reg = (uint8_t)middle;
	out->cfa_off = off;
	out->cfa_add = (int16_t)add;
	return true;
}

/* GCC's realigned frames, OpenSSL's saved sp: bregN x [, deref [, plus_uconst y]] */
static bool cfa_deref(struct expr e, struct unwind_rule *out)
{
	int32_t off, add;
	uint8_t reg = expr_breg(&e, &off);

	if (expr_ended(&e))
		return cfa_register(reg, off, out);
	add = expr_deref(&e);
	if (!expr_ended(&e) || (reg != UREG_SP && reg != UREG_FP) || add > INT16_MAX)
		return false;
	out->cfa = reg == UREG_SP ? UNWIND_CFA_SP_DEREF : UNWIND_CFA_FP_DEREF;
	out->cfa_off = off;
	out->cfa_add = (int16_t)add;
	return true;
}

static bool rule_cfa(const struct eh_frame *ef, const struct cfi_value *cfa,
		     struct unwind_rule *out)
{
	struct expr e;

	if (cfa->how == CFI_REGISTER)
		return cfa_register(cfa->reg, cfa->off, out);
	if (cfa->how != CFI_EXPR)
		return false;
	e = expr_of(ef, cfa);
	return cfa_deref(e, out) || cfa_plt(e, out) || cfa_index(e, out) || cfa_deref_twice(e, out);
}

/*
 * Handles registers that are saved outside of the frame, which is rare; the meaning of *@off
 * depends on *@how.
 */
static bool rule_saved_elsewhere(const struct eh_frame *ef, const struct cfi_value *v, uint8_t *how,
				 int16_t *off)
{
	struct expr e;
	int32_t at;

	switch (v->how) {
	case CFI_UNDEFINED:
		*how = UNWIND_SAVED_UNDEF;
		return true;
	case CFI_REGISTER:
		*how = UNWIND_SAVED_REG;
		*off = (int16_t)v->reg;
		return v->reg <= UREG_MASK;
	case CFI_EXPR:
		e = expr_of(ef, v);
		*how = UNWIND_SAVED_FP;
		if (expr_breg(&e, &at) != UREG_FP || !expr_ended(&e))
			return false;
		*off = (int16_t)at;
		return *off == at;
	}
	return false;
}

/*
 * Finds where the caller's aux or fp is. Branches are used instead of a switch, because every row
 * comes here twice.
 */
static inline bool rule_saved(const struct eh_frame *ef, const struct cfi_value *v, uint8_t *how,
			      int16_t *off)
{
	if (v->how == CFI_UNSPECIFIED || v->how == CFI_SAME) {
		*how = UNWIND_SAVED_SAME;
		return true;
	}
	if (v->how == CFI_OFFSET) {
		*how = UNWIND_SAVED_CFA;
		*off = (int16_t)v->off;
		return *off == v->off;
	}
	return rule_saved_elsewhere(ef, v, how, off);
}

static bool return_address_in(uint16_t reg, struct unwind_rule *out)
{
	if (out->cfa != UNWIND_CFA_SP_OFF || reg > UREG_MASK)
		return false;
	out->cfa = UNWIND_CFA_SP_RA_REG;
	out->cfa_reg = (uint8_t)reg;
	return true;
}

static bool rule_return_address(const struct cfi_value *v, struct unwind_rule *out)
{
	if (v->how == CFI_OFFSET) {
		out->ra_off = (int16_t)v->off;
		return out->ra_off == v->off;
	}
	/*
	 * vfork() keeps the return address in a register, because the child would overwrite it on
	 * the shared stack.
	 */
	if (v->how == CFI_REGISTER)
		return return_address_in(v->reg, out);
	if (v->how == CFI_UNSPECIFIED || v->how == CFI_SAME)
		return return_address_in(UREG_RA, out);
	return false;
}

/* Recognizes the frame that the kernel builds for a signal handler: its sp is in the ucontext. */
static bool rule_signal(const struct eh_frame *ef, const struct cfi_state *s,
			struct unwind_rule *out)
{
	struct expr e;
	int32_t off;

	e = expr_of(ef, &s->col[CFI_SP]);
	if (expr_breg(&e, &off) != UREG_SP || !expr_ended(&e))
		return false;
	*out = (struct unwind_rule){ .cfa = UNWIND_CFA_SIGNAL, .cfa_off = off - ARCH_SIGNAL_SP };
	return true;
}

/* The walk uses the CFA as the caller's sp: a function that defines sp differently is refused. */
static bool sp_is_cfa(const struct cfi_value *v)
{
	return v->how == CFI_UNSPECIFIED || (v->how == CFI_VAL_OFFSET && !v->off);
}

/*
 * GHC's StgRun() defines its CFA below a block that it reserves, and the caller's sp separately.
 * Since any fixed address may serve as the CFA, the caller's sp is used.
 */
static bool cfa_is_elsewhere(const struct eh_frame *ef, const struct cfi_state *s,
			     struct cfi_state *out)
{
	struct expr e;
	int32_t off;

	if (s->cfa.how != CFI_REGISTER || s->cfa.reg != UREG_SP)
		return false;
	e = expr_of(ef, &s->col[CFI_SP]);
	if (expr_breg(&e, &off) != UREG_SP || !expr_ended(&e))
		return false;
	*out = *s;
	out->col[CFI_SP].how = CFI_UNSPECIFIED;
	for (size_t i = 0; i < CFI_N_COLUMNS; i++) {
		if (out->col[i].how == CFI_OFFSET &&
		    __builtin_add_overflow(s->col[i].off, (int64_t)s->cfa.off - off,
					   &out->col[i].off))
			return false;
	}
	out->cfa.off = off;
	return true;
}

/*
 * If the caller's aux cannot be expressed, it is lost and the walk continues: only the few frames
 * whose rule needs it end the stack.
 */
static void rule_aux(const struct eh_frame *ef, const struct cfi_value *v, struct unwind_rule *out)
{
	if (rule_saved(ef, v, &out->aux, &out->aux_off))
		return;
	out->aux = UNWIND_SAVED_UNDEF;
	out->aux_off = 0;
}

/*
 * Marks functions with GCC's __builtin_eh_return(), which save the registers that a handler
 * receives.
 */
static void rule_eh_return(const struct cfi_value *data, struct unwind_rule *out)
{
	if (data->how == CFI_OFFSET &&
	    (out->cfa == UNWIND_CFA_SP_OFF || out->cfa == UNWIND_CFA_FP_OFF))
		out->cfa_reg = UNWIND_EH_RETURN;
}

bool unwind_cfi_rule(const struct eh_frame *ef, const struct eh_frame_fde *fde,
		     const struct cfi_state *s, struct unwind_rule *out)
{
	struct unwind_rule rule = { 0 };
	struct cfi_state moved;

	if (s->col[CFI_RA].how == CFI_UNDEFINED) {
		*out = (struct unwind_rule){ .cfa = UNWIND_CFA_END };
		return true;
	}
	if (s->col[CFI_SP].how == CFI_EXPR && eh_frame_is_signal(ef, fde) &&
	    rule_signal(ef, s, out))
		return true;
	if (s->col[CFI_SP].how == CFI_VAL_EXPR && cfa_is_elsewhere(ef, s, &moved))
		s = &moved;
	if (sp_is_cfa(&s->col[CFI_SP]) && rule_cfa(ef, &s->cfa, &rule) &&
	    rule_return_address(&s->col[CFI_RA], &rule) &&
	    rule_saved(ef, &s->col[CFI_FP], &rule.fp, &rule.fp_off)) {
		rule_aux(ef, &s->col[CFI_AUX], &rule);
		rule_eh_return(&s->col[CFI_EH_DATA], &rule);
		*out = rule;
		return true;
	}
	*out = (struct unwind_rule){ .cfa = UNWIND_CFA_NONE };
	return false;
}
