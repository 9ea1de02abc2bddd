/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Call frame information (.eh_frame and .debug_frame): finds the functions
 * that a section describes and replays their CFA programs. Only what unwinding
 * needs is kept: the CFA and four registers. The section is a stranger's:
 * every read is checked.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index.h"
#include "base/vec.h"
#include "elf/image.h"

struct err;

/* The registers whose rules are kept (x86-64 psABI, fig. 3.36: 3, 6, 7 and 16). */
enum cfi_column { CFI_RBX, CFI_RBP, CFI_RSP, CFI_RA, CFI_N_COLUMNS };

enum cfi_how {
	CFI_UNSPECIFIED, /* no instruction has named it: the ABI's default */
	CFI_SAME,
	CFI_UNDEFINED,
	CFI_OFFSET,      /* saved at CFA + off */
	CFI_VAL_OFFSET,  /* is CFA + off */
	CFI_REGISTER,    /* is in register reg; of the CFA: is reg + off */
	CFI_EXPR,        /* saved where the expression points; of the CFA: is the expression */
	CFI_VAL_EXPR,    /* is the expression */
	CFI_OUT_OF_RANGE /* a register or offset that no x86-64 code can have */
};

struct cfi_value {
	uint16_t how; /* enum cfi_how */
	uint16_t reg;
	int32_t off; /* of expressions: where the section has it, see eh_frame_expression() */
};

struct cfi_state {
	struct cfi_value cfa;
	struct cfi_value col[CFI_N_COLUMNS];
};

struct eh_frame_source {
	struct elf_span span;
	bool debug_frame; /* the format of .debug_frame, not of .eh_frame */
	bool open_ended;  /* the span is longer than the section: a zero length ends it */
	uint64_t text_base;
	uint64_t data_base; /* for DW_EH_PE_textrel and _datarel */
};

/* The function at [start, start + len); the rest is for eh_frame_run(). */
struct eh_frame_fde {
	uint64_t start;
	uint32_t len;
	uint32_t cie;
	uint32_t insns;
	uint32_t insns_len;
};

enum {
	EH_FRAME_FDES_MAX = 4 << 20,
	EH_FRAME_CIES_MAX = 1 << 18,
	EH_FRAME_REMEMBER_MAX = 16, /* nested DW_CFA_remember_state; compilers emit one */
};

struct eh_frame_cie;

/* All functions of a section, in its order: the caller may filter and sort fdes. */
struct eh_frame {
	struct eh_frame_source src;
	struct {
		VEC(struct eh_frame_fde);
	} fdes;
	struct {
		VEC(struct eh_frame_cie);
	} cies;
	struct index cie_at;
	uint32_t last_cie;
};

void eh_frame_fini(struct eh_frame *ef);

/**
 * eh_frame_find() - the unwind section of a file
 *
 * .eh_frame by its section header or, without those, by PT_GNU_EH_FRAME; else
 * .debug_frame.
 *
 * Return: 0; -ENOENT if the file has none (or only a compressed one).
 */
int eh_frame_find(const struct elf_image *img, struct eh_frame_source *out);

/**
 * eh_frame_read() - list the functions of a section
 *
 * @ef must be zeroed. It borrows what @src spans. Functions without code are
 * left out.
 *
 * Return: 0; -EBADMSG if the section is malformed (@ef then has what stands
 * before that point); -ENOMEM; -E2BIG.
 */
int eh_frame_read(struct eh_frame *ef, const struct eh_frame_source *src, struct err *err);

/* @s holds in [start, end); a non-zero return ends the run. */
typedef int (*eh_frame_row_fn)(void *ctx, uint64_t start, uint64_t end, const struct cfi_state *s);

/**
 * eh_frame_run() - replay a function's CFA program
 *
 * Calls @fn for each row, in ascending order and without gaps from the
 * function's start; to its end if the program is well formed.
 *
 * Return: 0; what @fn returned; -EBADMSG at a malformed instruction, after the
 * rows before it.
 */
int eh_frame_run(const struct eh_frame *ef, const struct eh_frame_fde *fde, eh_frame_row_fn fn,
		 void *ctx, struct err *err);

/* Is this the frame of a signal handler's return (augmentation 'S')? */
bool eh_frame_is_signal(const struct eh_frame *ef, const struct eh_frame_fde *fde);

/* The DWARF expression of a value whose how is CFI_EXPR or CFI_VAL_EXPR. */
void eh_frame_expression(const struct eh_frame *ef, const struct cfi_value *v,
			 const uint8_t **out_data, size_t *out_len);
