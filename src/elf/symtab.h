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
#include "elf/rawsym.h"

struct buf;
struct elf_image;
struct err;
struct elf_symtab;

struct elf_symbol {
	uint64_t vaddr;
	uint64_t size;    /* 0 in the file: up to the next symbol or its section's end */
	const char *name; /* raw; borrowed, valid as long as the table is */
};

/**
 * elf_symtab_load() - read, sort and de-duplicate function symbols
 *
 * Functions, indirect functions and assembler's labels in executable sections
 * (labels only where no function with a size is). @sources is a set of enum
 * elf_symtab_source; later ones only fill what the earlier do not cover. The
 * table keeps nothing of @img. With ELF_DYNSYM, PLT stubs get "name@plt" when
 * the file has relocations for them. A file whose table is in a separate debug
 * file has its own @sources; load one table a file.
 *
 * Return: 0 and a table (perhaps empty); -EBADMSG for lying tables; -E2BIG
 * over ELF_SYMBOLS_MAX symbols or ELF_NAMES_MAX bytes of names; -ENOMEM.
 */
int elf_symtab_load(struct elf_symtab **out, const struct elf_image *img, unsigned int sources,
		    struct err *err);
void elf_symtab_free(struct elf_symtab *t);

DEFINE_FREEP(struct elf_symtab, elf_symtab_free)

enum { ELF_SYMBOLS_MAX = 4 * 1000 * 1000, ELF_NAMES_MAX = 256 << 20 };

/*
 * The symbol that covers @vaddr: 0, or -ENOENT. Where several do, the one that
 * starts last; nesting deeper than 64 is not followed.
 */
int elf_symtab_find(const struct elf_symtab *t, uint64_t vaddr, struct elf_symbol *out);

/* The symbols in order of address; @i is below the count. */
void elf_symtab_at(const struct elf_symtab *t, size_t i, struct elf_symbol *out);

/* A function by the name the table kept for it; -ENOENT. Aliases and data: elf_symbol_lookup(). */
int elf_symtab_by_name(const struct elf_symtab *t, const char *name, struct elf_symbol *out);

/**
 * elf_symtab_save() - the table as bytes, for elf_symtab_restore()
 *
 * Of this machine's byte order. @out is to be asked for buf_error().
 */
void elf_symtab_save(const struct elf_symtab *t, struct buf *out);

/**
 * elf_symtab_restore() - a table out of bytes, which may be anything
 *
 * The @len bytes at @offset (a multiple of 8) in @block, which malloc() gave:
 * it becomes the table's, or is freed when there is none.
 *
 * What was damaged and still is a table gives wrong names, but nothing worse:
 * the caller knows by a checksum whether it was.
 *
 * Return: 0; -EBADMSG if it is not a table; -ENOMEM.
 */
int elf_symtab_restore(struct elf_symtab **out, void *block, size_t offset, size_t len);

size_t elf_symtab_count(const struct elf_symtab *t);
size_t elf_symtab_bytes(const struct elf_symtab *t); /* memory held, for budgets */
