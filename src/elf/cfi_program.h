/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The CFA programs of call frame information (DWARF 5, 6.4.2): replays a program and reports where
 * the caller's registers are at each address. It tracks only the CFA and the five registers
 * that unwinding needs.
 */
#include <stdint.h>

#include "elf/eh_cursor.h"

/*
 * The registers whose rules are tracked, see bpf/arch/regs.h, and the return address. Functions
 * save UREG_EH_DATA only if they pass it to an exception handler.
 */
enum cfi_column { CFI_EH_DATA, CFI_AUX, CFI_FP, CFI_SP, CFI_RA, CFI_N_COLUMNS };

enum cfi_how {
	CFI_UNSPECIFIED, /* no instruction has set it: the ABI's default applies */
	CFI_SAME,
	CFI_UNDEFINED,
	CFI_OFFSET,     /* saved at CFA + off */
	CFI_VAL_OFFSET, /* the value is CFA + off */
	CFI_REGISTER,   /* is in register reg; for the CFA: the value is reg + off */
	CFI_EXPR, /* saved where the expression points; for the CFA: the value is the expression */
	CFI_VAL_EXPR,    /* the value is the expression */
	CFI_OUT_OF_RANGE /* a register or offset that no code can have */
};

struct cfi_value {
	uint16_t how; /* enum cfi_how */
	uint16_t reg;
	int32_t off; /* for expressions: the offset in the section, see eh_frame_expression() */
};

struct cfi_state {
	struct cfi_value cfa;
	struct cfi_value col[CFI_N_COLUMNS];
};

/* The state that the functions of a CIE share. */
struct cfi_common {
	uint64_t code_align;
	int64_t data_align;
	struct cfi_state initial;
	uint8_t ra_reg;
	uint8_t encoding; /* encoding of code addresses */
};

/* The function at [start, start + len), its CIE, and the position of its program in the section. */
struct eh_frame_fde {
	uint64_t start;
	uint32_t len;
	uint32_t cie;
	uint32_t insns;
	uint32_t insns_len;
};

enum { CFI_REMEMBER_MAX = 16 }; /* nested DW_CFA_remember_state; compilers emit one */

/* Runs a CIE's own instructions and sets @common->initial. Returns 0 or -EBADMSG. */
int cfi_program_init(struct cfi_common *common, const struct eh_cursor *insns);

/* Called for a row: @s holds in [start, end). A non-zero result ends the run. */
typedef int (*cfi_row_fn)(void *ctx, uint64_t start, uint64_t end, const struct cfi_state *s);

/**
 * cfi_program_run() - replay the program of a function
 *
 * Calls @fn for each row, in ascending order and without gaps from the
 * function's start; to its end if the program is well formed.
 *
 * Return: 0; what @fn returned; -EBADMSG at a malformed instruction, after the
 * rows before it.
 */
int cfi_program_run(const struct cfi_common *common, const struct eh_frame_source *src,
		    const struct eh_frame_fde *fde, cfi_row_fn fn, void *ctx);
