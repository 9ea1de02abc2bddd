/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * How to step from one frame to its caller: the ABI between the table
 * builders (src/unwind) and the walk (bpf/lib/step.h). x86-64 register
 * numbers are DWARF's (System V psABI AMD64, fig. 3.36).
 *
 * A row {offset in page, rule id} holds from its offset to the next row's.
 * Rules are deduplicated in one dictionary for the whole machine.
 */
#ifndef CAMEO_BPF /* bpf/vmlinux.h has the integer types there */
#include <stdint.h>
#endif

/* Where the canonical frame address (CFA: the caller's rsp) comes from. */
enum unwind_cfa {
	UNWIND_CFA_NONE,      /* no rule here: the walk ends, UNWIND_ERR_NO_RULE */
	UNWIND_CFA_END,       /* outermost frame: the walk is complete */
	UNWIND_CFA_RSP,       /* rsp + cfa_off */
	UNWIND_CFA_RBP,       /* rbp + cfa_off */
	UNWIND_CFA_RBX,       /* rbx + cfa_off */
	UNWIND_CFA_REG,       /* register cfa_reg (DWARF number) + cfa_off; leaf frames, and their
				 callers where it leads to what a call returns to */
	UNWIND_CFA_RSP_DEREF, /* *(rsp + cfa_off) + cfa_add */
	UNWIND_CFA_RBP_DEREF, /* *(rbp + cfa_off) + cfa_add */
	UNWIND_CFA_PLT,       /* rsp + 8 + ((rip & 15) >= cfa_off) * 8 (ld's .plt expression) */
	UNWIND_CFA_SIGNAL,    /* the kernel's struct ucontext is at rsp + cfa_off (0 at glibc's
				 restorer): all registers are restored from it */
	UNWIND_CFA_FP, /* frame-pointer convention: CFA = rbp + 16, rbp at CFA-16, ra at CFA-8 */
	UNWIND_CFA_GO_ASMCGOCALL, /* runtime.asmcgocall: back to the goroutine's stack. With
				     g = *(rsp + cfa_off) and d = *(rsp + cfa_off - 8):
				     (g ? *(g + 8) - d : d) + cfa_add; see unwind/go.h */
	UNWIND_CFA_RSP_RA_REG, /* rsp + cfa_off; the return address is in register cfa_reg (vfork);
				  leaf frames only */
	UNWIND_CFA_RSP_INDEX,  /* *(rsp + cfa_off + register cfa_reg * 8) + cfa_add (OpenSSL's
				  bn_mul_mont); leaf frames only */
	UNWIND_CFA_SWITCHED,   /* rsp is another stack's, which is not in its place yet: the walk
				  ends, WALK_ERR_STACK_SWITCHED */
	UNWIND_CFA_MAX,
};

/* How the caller's rbp and rbx are found. */
enum unwind_saved {
	UNWIND_SAVED_SAME,  /* the register still holds it */
	UNWIND_SAVED_CFA,   /* at CFA + off */
	UNWIND_SAVED_RBP,   /* at rbp + off (expression; stack-realigning prologues) */
	UNWIND_SAVED_UNDEF, /* lost: becomes 0 */
	UNWIND_SAVED_REG,   /* in the register with the DWARF number off; leaf frames only */
};

/* What rules by rsp or rbp may say besides. */
enum {
	/* guessed from the code, which may not keep to C's calling convention (Haskell's) */
	UNWIND_SWEPT = 1,
	/* nobody called this: a handler put its frame here, and the return address is that of the
	   next instruction of what it had interrupted (Go's preemption) */
	UNWIND_INJECTED = 2,
};

/* What _END may say besides: the address to return to is only the mark of a stack's beginning. */
enum { UNWIND_NO_FRAME = 1 };

struct unwind_rule {
	uint8_t cfa; /* enum unwind_cfa */
	/*
	 * UNWIND_CFA_REG, _RSP_RA_REG and _RSP_INDEX: the register. _RSP and _RBP: UNWIND_SWEPT,
	 * UNWIND_INJECTED or 0. _END: UNWIND_NO_FRAME or 0.
	 */
	uint8_t cfa_reg;
	uint8_t rbp; /* enum unwind_saved */
	uint8_t rbx; /* enum unwind_saved */
	int32_t cfa_off;
	int16_t rbp_off;
	int16_t rbx_off;
	int16_t ra_off;  /* return address is at CFA + ra_off; -8 nearly always */
	int16_t cfa_add; /* the *_DEREF kinds */
};
_Static_assert(sizeof(struct unwind_rule) == 16, "rules are map values");

/* One row of a 64 KiB page of a file's text; rows of a page are sorted by @lo. */
struct unwind_row {
	uint16_t lo;   /* low 16 bits of the file offset from which the rule holds */
	uint16_t rule; /* id in the dictionary */
};
_Static_assert(sizeof(struct unwind_row) == 4, "rows are map values");

/* Rule ids that every dictionary begins with. */
enum {
	UNWIND_RULE_NONE = 0, /* UNWIND_CFA_NONE */
	UNWIND_RULE_END = 1,  /* UNWIND_CFA_END */
	UNWIND_RULE_FP = 2,   /* UNWIND_CFA_FP */
	UNWIND_RULES_MAX = 1 << 15,
};
