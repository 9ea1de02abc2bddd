/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Rows for the code of a file that its unwind information leaves out. */
#include <stdint.h>

struct elf_image;
struct unwind_rows;

/*
 * Sweeps the executable code that has no rule in @rows, or just frame pointers,
 * outside of the file's [skip_lo, skip_hi), and puts what it finds in @out,
 * which is empty; @covered bytes have rules. 0, -ENOMEM or -E2BIG.
 */
int unwind_gap_rows(struct unwind_rows *out, const struct unwind_rows *rows,
		    const struct elf_image *img, uint64_t covered, uint64_t skip_lo,
		    uint64_t skip_hi);
