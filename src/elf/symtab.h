/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Function symbols of one file, sorted by address, one name an address: the
 * first source of names. Reads .symtab and .dynsym (whichever the caller
 * asks for) through elf_image, so its input may be hostile.
 *
 * Aliases: the same choice everywhere - global before weak before local, then
 * fewest leading underscores, then shortest, then bytewise.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct elf_image;
struct err;
struct elf_symtab;

enum elf_symtab_source {
	ELF_SYMTAB = 1u << 0,
	ELF_DYNSYM = 1u << 1,
};

struct elf_symbol {
	uint64_t vaddr;
	uint64_t size;    /* 0 in the file: up to the next symbol or its section's end */
	const char *name; /* raw; borrowed, valid as long as the table is */
};

/**
 * elf_symtab_load() - read, sort and de-duplicate function symbols
 *
 * @sources is a set of enum elf_symtab_source; later ones only fill what the
 * earlier do not cover. The table keeps nothing of @img. PLT entries get
 * "name@plt" when the file has relocations for them.
 *
 * Return: 0 and a table (perhaps empty); -EBADMSG for lying tables; -ENOMEM.
 */
int elf_symtab_load(struct elf_symtab **out, const struct elf_image *img, unsigned int sources,
		    struct err *err);
void elf_symtab_free(struct elf_symtab *t);

DEFINE_FREEP(struct elf_symtab, elf_symtab_free)

/* The symbol that covers @vaddr: 0, or -ENOENT. */
int elf_symtab_find(const struct elf_symtab *t, uint64_t vaddr, struct elf_symbol *out);

/* By name (first match), for finding runtimes' globals; -ENOENT. Not for hot paths. */
int elf_symtab_by_name(const struct elf_symtab *t, const char *name, struct elf_symbol *out);

size_t elf_symtab_count(const struct elf_symtab *t);
size_t elf_symtab_bytes(const struct elf_symtab *t); /* memory held, for budgets */
