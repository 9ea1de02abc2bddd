/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unwind rows for code without CFI, from the code itself: the instructions that move the stack are
 * followed along all branches from the starts of functions. There is no row where the result is not
 * certain.
 */
#include "unwind/sweep_code.h"

struct elf_image;
struct unwind_rows;

/**
 * unwind_sweep_run() - find the state at each instruction of the gaps
 *
 * Functions begin at @img's symbols and at the targets of calls; in whole gaps also after the end
 * of other code.
 *
 * Return: 0 or -ENOMEM.
 */
int unwind_sweep_run(struct unwind_sweep *sw, const struct elf_image *img);

/*
 * Appends the rows of all gaps to @rows, with UNWIND_CFA_NONE between gaps. Returns 0, -ENOMEM or
 * -E2BIG.
 */
int unwind_sweep_rows(const struct unwind_sweep *sw, struct unwind_rows *rows);
