/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rows for code that GHC compiled from Haskell, which has no CFI. Haskell's stack is not the
 * thread's: all Haskell code runs in the frame of the C function StgRun(), which reserves 16 KiB
 * for its spilled registers, and moves rsp only around calls of C functions.
 */
#include <stdbool.h>
#include <stdint.h>

struct elf_image;
struct unwind_rows;

/*
 * True if @img has Haskell code: it defines StgRun(), which @rows and the code show, or uses
 * a symbol of GHC's runtime.
 */
bool unwind_is_haskell(const struct elf_image *img, const struct unwind_rows *rows);

/*
 * Appends to @out the rows of the file's [@lo, @hi), which is executable and has no CFI, and
 * UNWIND_CFA_NONE after it. Returns 0, -ENOMEM or -E2BIG.
 */
int unwind_haskell_rows(struct unwind_rows *out, const struct elf_image *img, uint64_t lo,
			uint64_t hi);
