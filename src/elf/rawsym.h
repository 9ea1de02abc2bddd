/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A file's symbol tables entry by entry, as they stand in the file: for the
 * sorted table of functions (elf/symtab.h) and for finding runtimes' globals,
 * which are data.
 */
#include <stddef.h>
#include <stdint.h>

#include "elf/image.h"

enum elf_symtab_source {
	ELF_SYMTAB = 1u << 0,
	ELF_DYNSYM = 1u << 1,
};

/* One table; borrows from its image. Its fields are the module's own. */
struct elf_rawsyms {
	struct elf_span entries;
	struct elf_span strs;
	size_t n;
};

struct elf_rawsym {
	uint64_t vaddr;
	uint64_t size;
	uint32_t name_off;
	uint16_t shndx; /* SHN_* or a section's index */
	uint8_t type;   /* STT_* */
	uint8_t bind;   /* STB_* */
};

enum { ELF_NAME_MAX = 16384 }; /* longer names are cut */

/* The table of one source; -ENOENT when the file has none, -EBADMSG when its header lies. */
int elf_rawsyms_open(const struct elf_image *img, enum elf_symtab_source source,
		     struct elf_rawsyms *out);

/* Entry @i, which is below n. */
void elf_rawsyms_get(const struct elf_rawsyms *syms, size_t i, struct elf_rawsym *out);

/*
 * The name at @name_off, not NUL-terminated where it is cut: its length, 0 when
 * it has none or lies outside the table. @max is at most ELF_NAME_MAX.
 */
size_t elf_rawsyms_name(const struct elf_rawsyms *syms, uint32_t name_off, size_t max,
			const char **out);

/* The length of @name without "@VERSION", which linkers write into .symtab, not into .dynsym. */
size_t elf_name_unversioned(const char *name, size_t len);

/**
 * elf_symbol_lookup() - a defined symbol of any type by its name
 *
 * @sources is a set of enum elf_symtab_source, .symtab asked first. Walks the
 * whole table: for finding a few globals, not for hot paths.
 *
 * Return: 0 or -ENOENT.
 */
int elf_symbol_lookup(const struct elf_image *img, unsigned int sources, const char *name,
		      struct elf_rawsym *out);
