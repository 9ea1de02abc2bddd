/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A dynamic symbol by its name through .gnu.hash: a few pages of the file, whatever its size. */
#include "elf/rawsym.h"

/* A defined symbol of any type: 0; -ENOENT, also when the file has no such section. */
int elf_gnuhash_lookup(const struct elf_image *img, const char *name, struct elf_rawsym *out);
