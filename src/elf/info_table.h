/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Functions of GHC's Haskell, which have neither CFI nor, if they are local, symbols. Before the
 * code of each is a table for the runtime.
 */
#include <stdbool.h>
#include <stdint.h>

struct elf_image;

/* True if the file contains the C function with which GHC's runtime enters Haskell. */
bool elf_has_stg_run(const struct elf_image *img);

/*
 * Finds the nearest code at or before @vaddr that a table precedes. Returns false if there is none
 * within 64 KiB.
 */
bool elf_info_table_start(const struct elf_image *img, uint64_t vaddr, uint64_t *out_start);
