/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Rows for the code of a file that has no unwind information. */
#include <stdint.h>

struct elf_image;
struct unwind_rows;

/*
 * Analyses (unwind/sweep.h) the executable code that has no rule in @rows, or only frame pointers,
 * except the file's [skip_lo, skip_hi), and appends its rows to @out, which is empty; @covered
 * bytes have rules. Returns 0, -ENOMEM or -E2BIG.
 */
int unwind_gap_rows(struct unwind_rows *out, const struct unwind_rows *rows,
		    const struct elf_image *img, uint64_t covered, uint64_t skip_lo,
		    uint64_t skip_hi);
