/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * PLT stubs, through which a file calls functions of other files, and its own indirect functions.
 */
#include <stddef.h>
#include <stdint.h>

#include "elf/rawsym.h"

struct elf_plt_entry {
	uint64_t vaddr;
	uint32_t size;
	uint32_t name_off; /* name of the called function, as an offset in the symbols' strings */
	uint8_t bind;      /* of the symbol that has it: STB_* */
};

/* A non-zero result ends the walk and is returned by it. */
typedef int (*elf_plt_fn)(void *ctx, const struct elf_plt_entry *e);

/*
 * Calls @fn for each stub whose function has a name in @syms, the file's table @source, section by
 * section; several times if an indirect function has several names. Functions of other files are
 * in .dynsym only. Returns 0, @fn's result, or -ENOMEM. Files of other architectures and files
 * without relocations have no stubs.
 */
int elf_plt_walk(const struct elf_image *img, const struct elf_rawsyms *syms,
		 enum elf_symtab_source source, elf_plt_fn fn, void *ctx);

/* The name of the @i-th section of @img that elf_plt_walk() reads; NULL after the last. */
const char *elf_plt_section(const struct elf_image *img, size_t i);
