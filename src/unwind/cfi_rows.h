/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The rows of the functions that CFI describes. */
#include <stdint.h>

struct elf_image;
struct err;
struct unwind_rows;
struct unwind_special_code;

/*
 * Appends the rows that the CFI of @cfi, which is the file @img or its debug file, has for @img,
 * and those of the special code @known between its functions. @out_covered is the number of bytes
 * of text that have rows from CFI. Returns 0; -EBADMSG if functions with broken CFI are missing, or
 * another -errno.
 */
int unwind_cfi_rows(struct unwind_rows *rows, const struct elf_image *img,
		    const struct elf_image *cfi, const struct unwind_special_code *known,
		    uint64_t *out_covered, struct err *err);
