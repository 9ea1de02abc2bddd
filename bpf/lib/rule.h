/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Steps to the caller by the unwind rule of the current frame: computes the CFA (the caller's sp),
 * then reads the return address, fp and aux relative to it (DWARF 5, 6.4.1). Past the leaf,
 * only those registers are followed that rules of real code need: sp, fp and aux. aux is needed
 * because ld.so's lazy binding and some assembly use it as their frame register.
 */
#include "bpf/lib/breakpoint.h"
#include "bpf/lib/calls.h"
#include "bpf/lib/eh_return.h"
#include "bpf/lib/generated.h"
#include "bpf/lib/walk_memory.h"

/*
 * Reads a register that a rule names. Past the leaf only aux, fp and sp are known; for others it
 * returns -1.
 */
static __always_inline int rule_register(struct walk *w, __u32 reg, __u64 *out)
{
	if (reg > UREG_MASK)
		return -1;
	if (w->other_regs != WALK_REGS_ALL && reg != UREG_AUX && reg != UREG_FP && reg != UREG_SP)
		return -1;
	*out = w->regs[bounded_here(reg) & UREG_MASK];
	return 0;
}

static __always_inline int saved_register(struct walk *w, __u32 how, __u64 cfa, __s64 off,
					  __u32 reg, __u64 *out)
{
	switch (how) {
	case UNWIND_SAVED_SAME:
		*out = w->regs[reg];
		return 0;
	case UNWIND_SAVED_CFA:
		return stack_word(w, cfa + off, out);
	case UNWIND_SAVED_FP:
		/*
		 * GCC emits this even after the pop of fp, where the register holds the value
		 * again.
		 */
		if (stack_word(w, w->regs[UREG_FP] + off, out))
			*out = w->regs[reg];
		return 0;
	case UNWIND_SAVED_REG:
		return rule_register(w, (__u32)off, out);
	default:
		*out = 0;
		return 0;
	}
}

/* True if the rule has the flag @flag (UNWIND_SWEPT, UNWIND_INJECTED or UNWIND_EH_RETURN). */
static __always_inline int rule_has_flag(const struct unwind_rule *rule, __u32 flag)
{
	return (rule->cfa == UNWIND_CFA_SP_OFF || rule->cfa == UNWIND_CFA_FP_OFF) &&
	       rule->cfa_reg == flag;
}

/*
 * True in the last instructions of a function that returns to an exception handler: UREG_EH_SP then
 * holds the handler's stack pointer and, at the end, its address, which no call precedes.
 */
static __always_inline int rule_jumps(const struct unwind_rule *rule)
{
	return rule->cfa_reg == UREG_EH_SP && (rule->cfa == UNWIND_CFA_SP_RA_REG ||
					       (rule->cfa == UNWIND_CFA_REG && rule->cfa_off == 8));
}

/*
 * Moves to the caller, whose stack pointer is @cfa. A return address of zero may end the stack (see
 * walk_root()) if the rule is from CFI; a zero that a rule derived from code leads to ends it only
 * if fp is 0 as well (psABI AMD64, 3.4.1).
 */
static __always_inline int walk_return(struct walk *w, const struct unwind_rule *rule, __u64 cfa)
{
	__u64 aux = 0, fp = 0, ra = 0;
	int r;

	/* the lowest address is read first, so that one window holds all three words */
	if (saved_register(w, rule->aux, cfa, rule->aux_off, UREG_AUX, &aux) ||
	    saved_register(w, rule->fp, cfa, rule->fp_off, UREG_FP, &fp))
		return walk_fail(w, WALK_ERR_STACK_READ);
	if (rule->cfa == UNWIND_CFA_SP_RA_REG) {
		if (rule_register(w, rule->cfa_reg, &ra))
			return walk_fail(w, WALK_ERR_REGISTER_LOST);
	} else if (stack_word(w, cfa + rule->ra_off, &ra)) {
		return walk_fail(w, WALK_ERR_STACK_READ);
	}
	if (!ra && fp && rule_has_flag(rule, UNWIND_SWEPT))
		return walk_fail(w, WALK_ERR_NO_RULE);
	r = walk_to_caller(w, ra, cfa, fp, aux);
	if (rule_has_flag(rule, UNWIND_INJECTED) || rule_jumps(rule))
		w->is_call = 0;
	return r;
}

/*
 * Moves out of a function that may return to an exception handler: to the handler's frame, if it is
 * found.
 */
WALK_FN int walk_eh_return(__u32 which)
{
	struct walk *w = walk_get(which);
	const struct unwind_rule *rule;
	__u64 ra = 0;
	int found, r;

	if (!w)
		return WALK_STOP;
	rule = rule_get(w->rule);
	if (!rule || stack_word(w, w->cfa + rule->ra_off, &ra))
		return walk_fail(w, WALK_ERR_STACK_READ);
	found = walk_find_handler(which, ra) == WALK_CONTINUE;
	r = walk_return(w, rule, w->cfa);
	if (r != WALK_CONTINUE)
		return r;
	if (found) {
		w->regs[UREG_PC] = w->handler.pc;
		w->regs[UREG_SP] = w->handler.cfa;
		w->at_root = 0;
	}
	if (found || walk_is_return(which, ra) != WALK_CONTINUE)
		w->is_call = 0;
	return WALK_CONTINUE;
}

/*
 * runtime.asmcgocall: moves from the thread's own stack, on which C runs, back to the goroutine's
 * stack. src/unwind/go.h describes the layout.
 */
WALK_FN int walk_go_asmcgocall(__u32 which, __u32 off)
{
	struct walk *w = walk_get(which);
	__u64 at, depth = 0, g = 0, hi = 0;

	if (!w)
		return WALK_STOP;
	at = w->regs[UREG_SP] + (__s32)off;
	if (stack_word(w, at - 8, &depth) || stack_word(w, at, &g))
		return walk_fail(w, WALK_ERR_STACK_READ);
	if (g && read_user(&hi, sizeof(hi), g + 8))
		return walk_fail(w, WALK_ERR_STACK_READ);
	w->cfa = g ? hi - depth : depth;
	return WALK_CONTINUE;
}

/*
 * Code of a file without a rule. The agent analyses the file's code first, once: in a leaf function
 * fp may be the caller's. Code for which the analysis finds no rule (browsers, V8's builtins)
 * mostly keeps frame pointers, but one is used only if it leads to mapped code.
 */
WALK_FN int walk_without_rule(__u32 which)
{
	struct walk *w = walk_get(which);
	__u64 fp, next = 0, ra = 0;
	struct unwind_file *f;

	if (!w)
		return WALK_STOP;
	w->need_file = w->mapping.file;
	f = file_get(w->need_file);
	if (f && f->state == FILE_TABLE_UNSWEPT)
		return WALK_NEED_FILE;
	fp = w->regs[UREG_FP];
	if (fp < w->regs[UREG_SP] || fp - w->regs[UREG_SP] > GUESS_FRAME_MAX || (fp & 7) ||
	    stack_word(w, fp, &next) || stack_word(w, fp + 8, &ra) || !ra ||
	    mapping_find(w, code_address(ra) - 1))
		return walk_fail(w, WALK_ERR_NO_RULE);
	return walk_up_frame_pointer(w, ra, next);
}

/*
 * Restores all registers from the kernel's signal frame at sp + @off. The window is its buffer,
 * because the BPF stack has no room for 136 more bytes: verifiers before 6.8 round the stack of
 * every function in a chain up to 32 bytes.
 */
WALK_FN int walk_signal(__u32 which, __u32 off)
{
	struct walk *w = walk_get(which);
	__u64 *c;

	if (!w)
		return WALK_STOP;
	/*
	 * The trampoline is entered by a return to its first byte, so the frame was pushed one byte
	 * too low.
	 */
	walk_repush(w, w->is_call);
	c = w->window;
	w->window_at = 0;
	if (read_user(c, ARCH_SIGNAL_WORDS * sizeof(*c),
		      w->regs[UREG_SP] + (__s32)off + ARCH_SIGNAL_AT))
		return walk_fail(w, WALK_ERR_STACK_READ);
	arch_signal_registers(w->regs, c);
	w->other_regs = WALK_REGS_ALL;
	w->is_call = 0;
	return WALK_CONTINUE;
}

/* True if the rule computes the CFA from sp. */
static __always_inline int rule_needs_sp(const struct unwind_rule *rule)
{
	return rule->cfa != UNWIND_CFA_FP_OFF && rule->cfa != UNWIND_CFA_AUX_OFF &&
	       rule->cfa != UNWIND_CFA_FP_DEREF && rule->cfa != UNWIND_CFA_REG;
}

/*
 * True if the rule can only lead up the same stack. Other registers and words in memory may lead to
 * another stack (Go, OCaml, coroutines).
 */
static __always_inline int rule_goes_up(const struct unwind_rule *rule)
{
	return rule_needs_sp(rule) && rule->cfa != UNWIND_CFA_SP_DEREF &&
	       rule->cfa != UNWIND_CFA_SP_DEREF_TWICE;
}

/*
 * Reads the word from which a rule computes the CFA. Returns 0, or -1 if its register is not known.
 */
static __always_inline int rule_base(struct walk *w, const struct unwind_rule *rule, __u64 *out)
{
	__u64 index = 0;

	switch (rule->cfa) {
	case UNWIND_CFA_FP_OFF:
	case UNWIND_CFA_FP_DEREF:
		*out = w->regs[UREG_FP];
		return 0;
	case UNWIND_CFA_AUX_OFF:
		*out = w->regs[UREG_AUX];
		return 0;
	case UNWIND_CFA_REG:
		return rule_register(w, rule->cfa_reg, out);
	case UNWIND_CFA_SP_INDEX:
		if (rule_register(w, rule->cfa_reg, &index))
			return -1;
		*out = w->regs[UREG_SP] + index * 8;
		return 0;
	default:
		*out = w->regs[UREG_SP];
		return 0;
	}
}

/*
 * For a frame that was reached by a frame pointer, so that its sp is unknown: computes the CFA from
 * the frame's own fp, provided that the function saves fp next to its return address.
 */
static __always_inline int rule_cfa_by_fp(struct walk *w, const struct unwind_rule *rule)
{
	if (rule->cfa != UNWIND_CFA_SP_OFF || rule->fp != UNWIND_SAVED_CFA ||
	    rule->ra_off != rule->fp_off + 8)
		return walk_fail(w, WALK_ERR_REGISTER_LOST);
	w->cfa = w->regs[UREG_FP] - (__s64)rule->fp_off;
	return WALK_CONTINUE;
}

/* Computes the frame's CFA into w->cfa. Returns WALK_CONTINUE, or the walk has ended. */
static __always_inline int rule_cfa(struct walk *w, const struct unwind_rule *rule)
{
	__u64 at = 0;

	if (!ARCH_FP_HAS_SP && w->by_frame_pointer && rule_needs_sp(rule))
		return rule_cfa_by_fp(w, rule);
	if (rule_base(w, rule, &at))
		return walk_fail(w, WALK_ERR_REGISTER_LOST);
	if (rule->cfa == UNWIND_CFA_PLT) {
		w->cfa = at + 8 + ((w->regs[UREG_PC] & 15) >= (__u64)rule->cfa_off ? 8 : 0);
		return WALK_CONTINUE;
	}
	at += (__s64)rule->cfa_off;
	if (rule->cfa == UNWIND_CFA_SP_DEREF_TWICE) {
		if (stack_word(w, at, &at))
			return walk_fail(w, WALK_ERR_STACK_READ);
		at += rule->cfa_reg;
	}
	if (rule->cfa == UNWIND_CFA_SP_DEREF || rule->cfa == UNWIND_CFA_SP_DEREF_TWICE ||
	    rule->cfa == UNWIND_CFA_FP_DEREF || rule->cfa == UNWIND_CFA_SP_INDEX) {
		if (stack_word(w, at, &at))
			return walk_fail(w, WALK_ERR_STACK_READ);
		at += (__s64)rule->cfa_add;
	}
	w->cfa = at;
	return WALK_CONTINUE;
}

/*
 * Ends the walk where sp points to a stack whose content is not in place yet. The runtimes' lists
 * are omitted as well, because they may belong to either stack.
 */
static __always_inline int walk_switched(struct walk *w)
{
	for (int i = 0; i < VM_SLOTS_MAX; i++)
		w->process.vms[i].vm = 0;
	return walk_fail(w, WALK_ERR_STACK_SWITCHED);
}

/*
 * OpenSSL's assembly keeps the CFA in a register that its own leaf functions preserve. The register
 * is used only if the word at CFA + ra_off is a return address. Returns WALK_CONTINUE with w->cfa
 * set, or the walk has ended.
 */
WALK_FN int walk_kept_cfa(__u32 which, __u32 id)
{
	struct walk *w = walk_get(which);
	const struct unwind_rule *rule = rule_get(id);
	__u64 ra = 0;

	if (!w || !rule)
		return WALK_STOP;
	w->cfa = w->regs[bounded_here(rule->cfa_reg) & UREG_MASK] + (__s64)rule->cfa_off;
	if (w->cfa - w->regs[UREG_SP] - 1 >= KEPT_FRAME_MAX ||
	    stack_word(w, w->cfa + rule->ra_off, &ra) || walk_is_return(which, ra) != WALK_CONTINUE)
		return walk_fail(w, WALK_ERR_REGISTER_LOST);
	return WALK_CONTINUE;
}

static __always_inline int walk_apply(struct walk *w, const struct unwind_rule *rule, __u32 which)
{
	int r;

	switch (rule->cfa) {
	case UNWIND_CFA_NONE:
		return walk_without_rule(which);
	case UNWIND_CFA_END:
		w->record.head.n_words -= rule->cfa_reg == UNWIND_NO_FRAME;
		return walk_done(w);
	case UNWIND_CFA_SWITCHED:
		return walk_switched(w);
	case UNWIND_CFA_FP:
		return walk_frame_pointer(which);
	case UNWIND_CFA_SIGNAL:
		return walk_signal(which, (__u32)rule->cfa_off);
	case UNWIND_CFA_GO_ASMCGOCALL:
		r = walk_go_asmcgocall(which, (__u32)rule->cfa_off);
		if (r != WALK_CONTINUE)
			return r;
		return walk_return(w, rule, w->cfa + (__s64)rule->cfa_add);
	}
	if (rule->cfa >= UNWIND_CFA_MAX)
		return walk_fail(w, WALK_ERR_BAD_TABLE);
	if (rule->cfa == UNWIND_CFA_REG && w->other_regs == WALK_REGS_KEPT)
		r = walk_kept_cfa(which, w->rule);
	else
		r = rule_cfa(w, rule);
	if (r != WALK_CONTINUE)
		return r;
	if (rule_goes_up(rule) && w->cfa < w->regs[UREG_SP] + (rule->cfa != UNWIND_CFA_SP_RA_REG))
		return walk_fail(w, WALK_ERR_BAD_CFA);
	if (rule_has_flag(rule, UNWIND_EH_RETURN))
		return walk_eh_return(which);
	if (w->at_breakpoint && rule->cfa == UNWIND_CFA_SP_OFF)
		(void)walk_emulated(which, rule->ra_off);
	return walk_return(w, rule, w->cfa);
}

/* Looks up the rule in the file's rows. Returns WALK_CONTINUE and *@out, or how the walk ends. */
static __always_inline int rule_find(struct walk *w, __u64 word, __u32 which, __u32 *out)
{
	struct unwind_file *f = file_get(w->mapping.file);

	if (!f)
		return walk_fail(w, WALK_ERR_BAD_TABLE);
	switch (f->state) {
	case FILE_TABLE_READY:
	case FILE_TABLE_UNSWEPT:
		if (!f->used)
			f->used = 1;
		*out = rule_search(f, word & FRAME_OFFSET_MASK);
		return WALK_CONTINUE;
	case FILE_TABLE_ABSENT:
		*out = UNWIND_RULE_FP;
		return WALK_CONTINUE;
	case FILE_TABLE_FULL:
		return walk_fail(w, WALK_ERR_TABLES_FULL);
	case FILE_TABLE_FAILED:
		return walk_fail(w, WALK_ERR_READER_FAILED);
	default:
		w->need_file = w->mapping.file;
		return WALK_NEED_FILE;
	}
}

/*
 * Finds the rule at @word of the file in w->mapping and puts it into w->rule. Returns
 * WALK_CONTINUE, or how the walk ends.
 */
static __always_inline int rule_look_up(struct walk *w, __u64 word, __u32 which)
{
	struct rule_cache_slot *slot;
	__u32 id = 0;
	int r;

	slot = &w->cache[((word * 0x9e3779b97f4a7c15ULL) >> 54) & (RULE_CACHE_SLOTS - 1)];
	if (slot->word == word && slot->generation == walk_generation()) {
		w->n_cache_hits++;
	} else {
		r = rule_find(w, word, which, &id);
		if (r != WALK_CONTINUE)
			return r;
		slot->rule = id;
		slot->word = word;
		slot->generation = walk_generation();
	}
	w->rule = slot->rule;
	return WALK_CONTINUE;
}

/* Steps by the rows of the file in w->mapping. */
WALK_FN int walk_native(__u32 which, __u64 word)
{
	struct walk *w = walk_get(which);
	const struct unwind_rule *rule;
	int r;

	if (!w)
		return WALK_STOP;
	r = rule_look_up(w, word, which);
	if (r != WALK_CONTINUE)
		return r;
	rule = rule_get(w->rule);
	if (!rule)
		return walk_fail(w, WALK_ERR_BAD_TABLE);
	return walk_apply(w, rule, which);
}
