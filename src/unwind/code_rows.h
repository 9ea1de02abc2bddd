/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The rows of code that CFI does not describe. */
#include <stdint.h>

struct elf_image;
struct unwind_rows;
struct unwind_special_code;

/*
 * Gives rules to the text of @img that @rows has none for. @covered is the number of bytes of text
 * with rows from CFI, [@go_lo, @go_hi) is Go's text. Leaves @rows empty if all that could be said
 * is that the file keeps frame pointers. Returns 0 or -errno.
 */
int unwind_code_rows(struct unwind_rows *rows, const struct elf_image *img,
		     const struct unwind_special_code *known, uint64_t covered, uint64_t go_lo,
		     uint64_t go_hi);
