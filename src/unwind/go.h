/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unwind rows of Go code from .gopclntab's pcsp tables (Go 1.2 to 1.26),
 * which give rsp's distance from the frame's start at every instruction:
 * so the caller of a frameless leaf is found, which frame pointers lose.
 */
#include "unwind/rows.h"

/**
 * unwind_go_rows() - append the rows of a file's Go functions
 *
 * Return: 0; -ENOENT if there is no pclntab; -EBADMSG, -ENOMEM, -E2BIG as in
 * unwind_rows_from_file(). *@out_lo and *@out_hi become the file offsets
 * between which Go's text lies.
 */
int unwind_go_rows(struct unwind_rows *rows, const struct elf_image *img, uint64_t *out_lo,
		   uint64_t *out_hi, struct err *err);
