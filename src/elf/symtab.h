/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The function symbols of one file, sorted by address, one name per address: the first source of
 * names. Reads .symtab and .dynsym, as the caller chooses, through elf_image; its input may be
 * hostile.
 *
 * Among aliases the choice is the same everywhere: global and weak before local, then fewest
 * leading underscores, then global before weak, then shortest, then bytewise.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "elf/rawsym.h"

struct buf;
struct elf_symtab;

struct elf_symbol {
	uint64_t vaddr;
	/* if 0 in the file: up to the end of the function, at most to the next symbol */
	uint64_t size;
	const char *name; /* mangled; borrowed, valid as long as the table */
};

/**
 * elf_symtab_load() - read, sort and deduplicate function symbols
 *
 * Loads functions, indirect functions and assembler labels in executable sections (labels only
 * where there is no function with a size). @sources is a set of enum elf_symtab_source; later ones
 * only fill what earlier ones do not cover. The table keeps no reference to @img. PLT stubs are
 * named "name@plt" if the file has relocations for them: those of other files' functions with
 * ELF_DYNSYM, those of its own indirect functions with the source that has their symbols. A file
 * whose table is in a separate debug file has its own @sources; load one table per file.
 *
 * Return: 0 and a table, which may be empty; -EBADMSG for invalid tables; -E2BIG over
 * ELF_SYMBOLS_MAX symbols or ELF_NAMES_MAX bytes of names; -ENOMEM.
 */
int elf_symtab_load(struct elf_symtab **out, const struct elf_image *img, unsigned int sources,
		    struct err *err);
void elf_symtab_free(struct elf_symtab *t);

DEFINE_FREEP(struct elf_symtab, elf_symtab_free)

/*
 * Finds the symbol that covers @vaddr: 0, or -ENOENT. Among several, the one that starts last;
 * nesting deeper than 64 is not followed.
 */
int elf_symtab_find(const struct elf_symtab *t, uint64_t vaddr, struct elf_symbol *out);

/* The @i-th symbol in order of address; @i is below the count. */
void elf_symtab_at(const struct elf_symtab *t, size_t i, struct elf_symbol *out);

/*
 * Finds a function by the name that the table has for it; -ENOENT. For aliases and data use
 * elf_symbol_lookup().
 */
int elf_symtab_by_name(const struct elf_symtab *t, const char *name, struct elf_symbol *out);

/**
 * elf_symtab_save() - serialize the table for elf_symtab_restore()
 *
 * In the byte order of this machine. Check buf_error() of @out afterwards.
 */
void elf_symtab_save(const struct elf_symtab *t, struct buf *out);

/**
 * elf_symtab_restore() - make a table of bytes, which may be corrupt
 *
 * Uses the @len bytes at @offset (a multiple of 8) in @block, which came from malloc(). Takes
 * ownership of @block, also on failure.
 *
 * Corrupt bytes that are still a valid table give wrong names, nothing worse; the caller has a
 * checksum against that.
 *
 * Return: 0; -EBADMSG if it is not a table; -ENOMEM.
 */
int elf_symtab_restore(struct elf_symtab **out, void *block, size_t offset, size_t len);

size_t elf_symtab_count(const struct elf_symtab *t);
size_t elf_symtab_bytes(const struct elf_symtab *t); /* bytes of memory, for budgets */
