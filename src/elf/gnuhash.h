/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds a dynamic symbol by name through .gnu.hash, which reads a few pages of the file, whatever
 * its size.
 */
#include "elf/rawsym.h"

/* Finds a defined symbol of any type. Returns 0; -ENOENT, also if the file has no such section. */
int elf_gnuhash_lookup(const struct elf_image *img, const char *name, struct elf_rawsym *out);
