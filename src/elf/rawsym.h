/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A file's symbol tables entry by entry, in the order of the file: for the sorted table of
 * functions (elf/symtab.h) and for finding the global variables of runtimes.
 */
#include <stddef.h>
#include <stdint.h>

#include "elf/image.h"

enum elf_symtab_source {
	ELF_SYMTAB = 1u << 0,
	ELF_DYNSYM = 1u << 1,
};

/* One table; borrows from its image. Its fields are private to rawsym.c. */
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

/* Limits of one sorted table: symbols, and bytes of their names together. */
enum { ELF_SYMBOLS_MAX = 4 * 1000 * 1000, ELF_NAMES_MAX = 256 << 20 };

enum { ELF_NAME_MAX = 16384 }; /* bytes; longer names are truncated */

/*
 * Opens the table of one source; -ENOENT if the file has none, -EBADMSG if its header is invalid.
 */
int elf_rawsyms_open(const struct elf_image *img, enum elf_symtab_source source,
		     struct elf_rawsyms *out);

/* Reads entry @i, which is below n. */
void elf_rawsyms_get(const struct elf_rawsyms *syms, size_t i, struct elf_rawsym *out);

/*
 * Finds the name at @name_off, which is not NUL-terminated if it is truncated. Returns its length;
 * 0 if it is empty or outside the table. @max is at most ELF_NAME_MAX.
 */
size_t elf_rawsyms_name(const struct elf_rawsyms *syms, uint32_t name_off, size_t max,
			const char **out);

/* The length of @name without "@VERSION", which linkers append in .symtab, not in .dynsym. */
size_t elf_name_unversioned(const char *name, size_t len);

/**
 * elf_symbol_lookup() - find a defined symbol of any type by name
 *
 * @sources is a set of enum elf_symtab_source; .symtab is searched first. Scans the whole table:
 * for a few global variables, not for hot paths.
 *
 * Return: 0 or -ENOENT.
 */
int elf_symbol_lookup(const struct elf_image *img, unsigned int sources, const char *name,
		      struct elf_rawsym *out);
