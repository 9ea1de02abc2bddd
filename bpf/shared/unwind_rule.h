/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * How to step from one frame to its caller: the contract between the builders of tables
 * (src/unwind) and the walk (bpf/lib/rule.h). sp, fp and aux are the registers that bpf/arch/regs.h
 * describes; register numbers are DWARF's.
 *
 * A row {offset in page, rule id} holds from its offset up to the next row's. Rules are
 * deduplicated in one dictionary for the whole machine.
 */
#ifndef CAMEO_BPF /* bpf/vmlinux.h defines the integer types there */
#include <stdint.h>
#endif

/* Where the canonical frame address (CFA, the value of sp in the caller) comes from. */
enum unwind_cfa {
	UNWIND_CFA_NONE,    /* no rule: a frame pointer is tried, else the walk ends with
			       WALK_ERR_NO_RULE */
	UNWIND_CFA_END,     /* outermost frame: the walk is complete */
	UNWIND_CFA_SP_OFF,  /* sp + cfa_off */
	UNWIND_CFA_FP_OFF,  /* fp + cfa_off */
	UNWIND_CFA_AUX_OFF, /* aux + cfa_off */
	UNWIND_CFA_REG, /* register cfa_reg + cfa_off; in leaf frames, and in their callers if the
			   word at CFA + ra_off is a return address */
	UNWIND_CFA_SP_DEREF, /* *(sp + cfa_off) + cfa_add */
	UNWIND_CFA_FP_DEREF, /* *(fp + cfa_off) + cfa_add */
	UNWIND_CFA_PLT,    /* sp + 8 + ((pc & 15) >= cfa_off) * 8: the expression that ld writes for
			      .plt */
	UNWIND_CFA_SIGNAL, /* the kernel's struct ucontext is at sp + cfa_off (0 at glibc's
			      restorer); all registers are restored from it */
	UNWIND_CFA_FP, /* frame-pointer convention: CFA = fp + 16, fp at CFA - 16, return address
			  at CFA - 8 */
	UNWIND_CFA_GO_ASMCGOCALL, /* runtime.asmcgocall, back to the goroutine's stack: with g =
				     *(sp + cfa_off) and d = *(sp + cfa_off - 8), CFA = (g ? *(g +
				     8) - d : d) + cfa_add; see src/unwind/go.h */
	UNWIND_CFA_SP_RA_REG,     /* sp + cfa_off, with the return address in register cfa_reg
				      (vfork); leaf frames only */
	UNWIND_CFA_SP_INDEX,      /* *(sp + cfa_off + register cfa_reg * 8) + cfa_add (OpenSSL's
				      bn_mul_mont); leaf frames only */
	UNWIND_CFA_SWITCHED, /* sp points to another stack, whose content is not in place yet: the
				walk ends with WALK_ERR_STACK_SWITCHED */
	UNWIND_CFA_SP_DEREF_TWICE, /* *(*(sp + cfa_off) + cfa_reg) + cfa_add (OCaml's fibers) */
	UNWIND_CFA_MAX,
};

/* Where the caller's fp and aux are found. */
enum unwind_saved {
	UNWIND_SAVED_SAME,  /* unchanged: the register still holds it */
	UNWIND_SAVED_CFA,   /* at CFA + off */
	UNWIND_SAVED_FP,    /* at fp + off, where a prologue realigns the stack */
	UNWIND_SAVED_UNDEF, /* lost: the walk continues with 0 */
	UNWIND_SAVED_REG,   /* in the register with the DWARF number off; leaf frames only */
};

/* Flags of rules with UNWIND_CFA_SP_OFF or UNWIND_CFA_FP_OFF, in cfa_reg. */
enum {
	/*
	 * derived from the code, which may not follow C's calling convention (Haskell's does not)
	 */
	UNWIND_SWEPT = 1,
	/*
	 * the frame was inserted by a signal handler, not called: its return address is that of the
	 * interrupted instruction itself (Go's preemption)
	 */
	UNWIND_INJECTED = 2,
	/*
	 * the function may return to an exception handler (libgcc's _Unwind_RaiseException): see
	 * bpf/lib/eh_return.h
	 */
	UNWIND_EH_RETURN = 3,
};

/*
 * Flag of rules with UNWIND_CFA_END, in cfa_reg: the return address only marks the bottom of a
 * stack and is not a frame.
 */
enum { UNWIND_NO_FRAME = 1 };

struct unwind_rule {
	uint8_t cfa; /* enum unwind_cfa */
	/*
	 * The register of UNWIND_CFA_REG, _SP_RA_REG and _SP_INDEX; an offset for
	 * _SP_DEREF_TWICE; a flag or 0 for _SP_OFF and _FP_OFF; UNWIND_NO_FRAME or 0 for
	 * _END.
	 */
	uint8_t cfa_reg;
	uint8_t fp;  /* enum unwind_saved */
	uint8_t aux; /* enum unwind_saved */
	int32_t cfa_off;
	int16_t fp_off;
	int16_t aux_off;
	int16_t ra_off; /* the return address is at CFA + ra_off; -8 in all but hand-written code */
	int16_t cfa_add; /* used by the *_DEREF* kinds */
};
_Static_assert(sizeof(struct unwind_rule) == 16, "rules are map values");

/* One row of a 64 KiB page of a file's text. The rows of a page are sorted by @lo. */
struct unwind_row {
	uint16_t lo;   /* low 16 bits of the file offset from which on the rule holds */
	uint16_t rule; /* id of the rule in the dictionary */
};
_Static_assert(sizeof(struct unwind_row) == 4, "rows are map values");

/* Rule ids with which every dictionary begins. */
enum {
	UNWIND_RULE_NONE = 0, /* UNWIND_CFA_NONE */
	UNWIND_RULE_END = 1,  /* UNWIND_CFA_END */
	UNWIND_RULE_FP = 2,   /* UNWIND_CFA_FP */
	UNWIND_RULES_MAX = 1 << 15,
};
