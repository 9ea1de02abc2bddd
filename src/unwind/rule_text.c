/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/rule_text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "bpf/arch/regs.h"
#include "bpf/shared/unwind_rule.h"

static const char *const cfa_text[UNWIND_CFA_MAX] = {
	[UNWIND_CFA_NONE] = "none",
	[UNWIND_CFA_END] = "end",
	[UNWIND_CFA_SP_OFF] = UREG_SP_NAME,
	[UNWIND_CFA_FP_OFF] = UREG_FP_NAME,
	[UNWIND_CFA_AUX_OFF] = UREG_AUX_NAME,
	[UNWIND_CFA_REG] = "reg",
	[UNWIND_CFA_SP_DEREF] = "*" UREG_SP_NAME,
	[UNWIND_CFA_FP_DEREF] = "*" UREG_FP_NAME,
	[UNWIND_CFA_PLT] = "plt",
	[UNWIND_CFA_SIGNAL] = "signal",
	[UNWIND_CFA_FP] = "frame-pointer",
	[UNWIND_CFA_GO_ASMCGOCALL] = "go-asmcgocall",
	[UNWIND_CFA_SP_RA_REG] = UREG_SP_NAME ", ra in reg",
	[UNWIND_CFA_SP_INDEX] = "*" UREG_SP_NAME "+8*reg",
	[UNWIND_CFA_SWITCHED] = "switched",
	[UNWIND_CFA_SP_DEREF_TWICE] = "**" UREG_SP_NAME,
};

/* Appends to @out, which holds UNWIND_RULE_TEXT_MAX bytes, of which *@at are used. */
__attribute__((format(printf, 3, 4))) static void add(char *out, size_t *at, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(out + *at, UNWIND_RULE_TEXT_MAX - *at, fmt, ap);
	va_end(ap);
	if (n > 0)
		*at += (size_t)n < UNWIND_RULE_TEXT_MAX - *at ? (size_t)n
							      : UNWIND_RULE_TEXT_MAX - 1 - *at;
}

static void add_saved(char *out, size_t *at, const char *reg, uint8_t how, int off)
{
	switch (how) {
	case UNWIND_SAVED_CFA:
		add(out, at, "  %s at cfa%+d", reg, off);
		break;
	case UNWIND_SAVED_FP:
		add(out, at, "  %s at " UREG_FP_NAME "%+d", reg, off);
		break;
	case UNWIND_SAVED_UNDEF:
		add(out, at, "  %s lost", reg);
		break;
	default:
		break;
	}
}

static const char *flag_text(uint8_t flag)
{
	switch (flag) {
	case UNWIND_SWEPT:
		return "guessed";
	case UNWIND_EH_RETURN:
		return "returns to handlers";
	}
	return "injected";
}

static bool names_register(uint8_t cfa)
{
	return cfa == UNWIND_CFA_REG || cfa == UNWIND_CFA_SP_RA_REG || cfa == UNWIND_CFA_SP_INDEX;
}

void unwind_rule_text(const struct unwind_rule *rule, char *out)
{
	uint8_t cfa = rule->cfa;
	size_t at = 0;

	add(out, &at, "%s", cfa < UNWIND_CFA_MAX && cfa_text[cfa] ? cfa_text[cfa] : "?");
	if (names_register(cfa))
		add(out, &at, "%u", rule->cfa_reg);
	if (cfa >= UNWIND_CFA_SP_OFF && cfa <= UNWIND_CFA_SIGNAL)
		add(out, &at, "%+d", rule->cfa_off);
	if (cfa == UNWIND_CFA_SP_DEREF_TWICE)
		add(out, &at, "%+d %+d", rule->cfa_off, rule->cfa_reg);
	if (cfa == UNWIND_CFA_SP_DEREF || cfa == UNWIND_CFA_FP_DEREF ||
	    cfa == UNWIND_CFA_SP_DEREF_TWICE)
		add(out, &at, " %+d", rule->cfa_add);
	if ((cfa == UNWIND_CFA_SP_OFF || cfa == UNWIND_CFA_FP_OFF) && rule->cfa_reg)
		add(out, &at, "  %s", flag_text(rule->cfa_reg));
	add_saved(out, &at, UREG_FP_NAME, rule->fp, rule->fp_off);
	add_saved(out, &at, UREG_AUX_NAME, rule->aux, rule->aux_off);
	if (rule->ra_off != -8 && cfa > UNWIND_CFA_END)
		add(out, &at, "  ra at cfa%+d", rule->ra_off);
}
