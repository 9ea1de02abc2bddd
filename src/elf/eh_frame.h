/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Call frame information (.eh_frame and .debug_frame): finds the functions that a section describes
 * and replays their CFA programs. It tracks only the CFA and the five registers that unwinding
 * needs (cfi_program.h). The section may be hostile: every read is checked.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index.h"
#include "base/vec.h"
#include "elf/cfi_program.h"
#include "elf/eh_cursor.h"
#include "elf/image.h"

enum {
	EH_FRAME_FDES_MAX = 4 << 20,
	EH_FRAME_CIES_MAX = 1 << 18,
};

struct eh_frame_cie;

/* All functions of a section, in its order. The caller may filter and sort fdes. */
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
 * @ef must be zeroed. It borrows what @src spans. Functions without code are omitted.
 *
 * Return: 0; -EBADMSG if the section is malformed (@ef then has what precedes that point); -ENOMEM;
 * -E2BIG.
 */
int eh_frame_read(struct eh_frame *ef, const struct eh_frame_source *src, struct err *err);

/* Replays a function's CFA program: see cfi_program_run(). */
int eh_frame_run(const struct eh_frame *ef, const struct eh_frame_fde *fde, cfi_row_fn fn,
		 void *ctx, struct err *err);

/* True if the function is a signal handler's return (augmentation 'S'). */
bool eh_frame_is_signal(const struct eh_frame *ef, const struct eh_frame_fde *fde);

/* The DWARF expression of a value whose how is CFI_EXPR or CFI_VAL_EXPR. */
void eh_frame_expression(const struct eh_frame *ef, const struct cfi_value *v,
			 const uint8_t **out_data, size_t *out_len);
