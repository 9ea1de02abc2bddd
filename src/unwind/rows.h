/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The unwind rows of one file, from whatever it has. */
#include "unwind/row_list.h"

struct elf_image;
struct err;

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
