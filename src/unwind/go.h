/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unwind rows of Go code from .gopclntab's pcsp tables (Go 1.2 to 1.27),
 * which give rsp's distance from the frame's start at every instruction:
 * so the caller of a frameless leaf is found, which frame pointers lose.
 *
 * Ordinary functions: CFA = rsp + depth + 8, the return address at CFA - 8,
 * rbp at CFA - 16 once a frame has stored it there and the caller's before,
 * rbx lost (Go preserves nothing; crosscall2, which C calls, keeps it).
 *
 * Go changes stacks in these functions, which have rules of their own:
 *
 *   goexit, mstart, rt0_go, _rt0_amd64*      UNWIND_CFA_END
 *   mcall, gogo, morestack, clone            UNWIND_CFA_END once they have left the stack
 *   systemstack, cgocallback, nanotime1,     UNWIND_CFA_FP_OFF + 16: rbp, which callees preserve,
 *   walltime1, time.now, asmcgocall_no_g     stays their frame pointer on the stack they came
 *                                            from; so the frames of systemstack's caller follow,
 *                                            and of the C code that called back into Go
 *   asmcgocall, while C runs                 UNWIND_CFA_GO_ASMCGOCALL
 *   sigreturn                                UNWIND_CFA_SIGNAL, from one byte before it
 *   asyncPreempt, sigpanic, debugCall        UNWIND_INJECTED: a handler made them callees of
 *                                            the function at its very instruction
 *
 * UNWIND_CFA_GO_ASMCGOCALL: asmcgocall stores two adjacent words on the
 * thread's own stack: the goroutine g whose stack it left, and its depth in
 * that stack (not an address, because the stack may move meanwhile):
 *
 *	u64 depth = *(rsp + cfa_off - 8)
 *	u64 g     = *(rsp + cfa_off)
 *	u64 sp    = g ? *(g + 8) - depth : depth	(g->stack.hi)
 *	CFA       = sp + cfa_add
 *
 * With g == 0 asmcgocall was on the thread's stack already, and the first
 * word is the old rsp itself. The other fields (ra_off, rbp, rbx) are as for
 * UNWIND_CFA_SP_OFF. cfa_off is 48 up to Go 1.24 and 8 since 1.26; cfa_add is 8, or
 * 16 since Go 1.21, where asmcgocall has a frame.
 *
 * On arm64 a frame of depth bytes has the return address at sp and the caller's fp in the word
 *below; without a frame the return address is in x30 (UNWIND_CFA_SP_RA_REG). Functions that change
 *stacks are passed by frame pointers, and those that leave a stack end it.
 *
 * Up to Go 1.20 systemstack has no frame of its own: its caller is omitted.
 */
#include "unwind/rows.h"

struct elf_image;
struct err;

/**
 * unwind_go_rows() - append the rows of a file's Go functions
 *
 * They are sorted by file offset and end with a row of UNWIND_CFA_NONE at *@out_hi. C functions
 * that Go's linker put among them have no rule, since that linker drops their CFI.
 *
 * Return: 0; -ENOENT if there is no pclntab; -EBADMSG, -ENOMEM, -E2BIG as in
 * unwind_rows_from_file(). *@out_lo and *@out_hi become the file offsets between which Go's text
 * lies.
 */
int unwind_go_rows(struct unwind_rows *rows, const struct elf_image *img, uint64_t *out_lo,
		   uint64_t *out_hi, struct err *err);
