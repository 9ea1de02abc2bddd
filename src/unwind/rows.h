/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The unwind table of one file, as its builders make it and before it is
 * paged into the maps: a sequence of {file offset, rule}, each rule holding
 * up to the next row's offset. Gaps between functions are rows with
 * UNWIND_CFA_NONE.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "bpf/shared/unwind_rule.h"

struct elf_image;
struct err;

struct unwind_full_row {
	uint64_t file_off;
	struct unwind_rule rule;
};

struct unwind_rows {
	VEC(struct unwind_full_row);
	uint32_t n_unsupported; /* rows whose CFI we cannot express: they are UNWIND_CFA_NONE */
};

void unwind_rows_fini(struct unwind_rows *rows);

/**
 * unwind_rows_from_file() - every row of a file, from the best source it has
 *
 * .eh_frame, else .debug_frame; Go's pclntab for Go code (it wins over
 * .eh_frame inside Go's text); frame entry points (_start, thread starts)
 * become UNWIND_CFA_END; PLT and signal frames their own kinds. Rows come out
 * sorted by file offset, without equal neighbours.
 *
 * Return: 0, rows may be empty when the file has no unwind information;
 * -EBADMSG with what is wrong when the information is malformed (the rows
 * read before that point are kept and good); -ENOMEM; -E2BIG over
 * UNWIND_ROWS_MAX.
 */
int unwind_rows_from_file(struct unwind_rows *rows, const struct elf_image *img, struct err *err);

/*
 * The same for a stripped file without .eh_frame, from the .debug_frame of
 * @debug, its debug file.
 */
int unwind_rows_from_debug_file(struct unwind_rows *rows, const struct elf_image *img,
				const struct elf_image *debug, struct err *err);

enum { UNWIND_ROWS_MAX = 16 * 1000 * 1000 };
