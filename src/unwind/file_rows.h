/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The unwind rows of one file, from all sources that the file has. */
#include "unwind/rows.h"

struct elf_image;
struct err;

/**
 * unwind_rows_from_file() - build all rows of a file from the best source for each range
 *
 * Sources are .eh_frame, otherwise .debug_frame; Go's pclntab for Go code (it wins over .eh_frame
 * within Go's text); functions that are recognized by their code (entry points, thread starts,
 * signal restorers); and an analysis of the remaining code (unwind/sweep.h). Rows are sorted by
 * file offset, and no two neighbours are equal.
 *
 * Return: 0, also without rows if the file has no unwind information; -EBADMSG and the reason if
 * the information is malformed (the rows read before that point are kept and valid); -ENOMEM;
 * -E2BIG over UNWIND_ROWS_MAX.
 */
int unwind_rows_from_file(struct unwind_rows *rows, const struct elf_image *img, struct err *err);

/*
 * Builds the rows of a stripped file without .eh_frame from the .debug_frame of its debug file
 * @debug.
 */
int unwind_rows_from_debug_file(struct unwind_rows *rows, const struct elf_image *img,
				const struct elf_image *debug, struct err *err);
