/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The stubs through which a file calls functions of other files (x86-64). */
#include <stddef.h>
#include <stdint.h>

#include "elf/rawsym.h"

struct elf_plt_entry {
	uint64_t vaddr;
	uint32_t size;
	uint32_t name_off; /* of the called function, in the dynamic symbols' strings */
};

/* Non-zero stops the walk and is returned by it. */
typedef int (*elf_plt_fn)(void *ctx, const struct elf_plt_entry *e);

/*
 * Calls @fn for each stub whose function has a name, section by section.
 * @dynsym is the file's. 0, @fn's result, or -ENOMEM; files of other machines
 * and files without relocations have none.
 */
int elf_plt_walk(const struct elf_image *img, const struct elf_rawsyms *dynsym, elf_plt_fn fn,
		 void *ctx);

/* The names of the sections of @img that elf_plt_walk() reads, NULL after the last. */
const char *elf_plt_section(const struct elf_image *img, size_t i);
