/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the privileged process reads itself of one file: its symbol tables and
 * Go's pclntab, and whether there is something for the worker in it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/note.h"

struct gopclntab_frame;
struct symbol_cache;
struct symbol_file;

enum symbol_table {
	SYMBOL_TABLE_SYMTAB,
	SYMBOL_TABLE_DYNSYM,
	SYMBOL_TABLE_MAX,
};

/*
 * Takes @fd over, whatever happens; @cache (NULL: none) is borrowed. 0 or -ENOMEM; a file that is
 * no ELF has no names.
 */
int symbol_file_new(struct symbol_file **out, int fd, struct symbol_cache *cache);
void symbol_file_free(struct symbol_file *f);

int symbol_file_fd(const struct symbol_file *f);
const struct elf_build_id *symbol_file_build_id(const struct symbol_file *f);

/* .gnu_debuglink's file name (NULL: none) and CRC. */
const char *symbol_file_debuglink(const struct symbol_file *f, uint32_t *out_crc);

/* Does it have in itself what only the worker reads: DWARF; DWARF or .gnu_debugdata? */
bool symbol_file_has_dwarf(const struct symbol_file *f);
bool symbol_file_has_debug(const struct symbol_file *f);
bool symbol_file_is_ada(struct symbol_file *f);

/* 0 or -ENOENT. */
int symbol_file_vaddr(const struct symbol_file *f, uint64_t file_off, uint64_t *out);

/*
 * The raw names at @n of @vaddrs (UINT64_MAX: not asked for) in one table; NULL where there is
 * none. They are valid until the same table is asked for others. Few are looked for in the file;
 * for many the table is sorted and kept. @vaddrs is written over.
 */
void symbol_file_names(struct symbol_file *f, enum symbol_table which, uint64_t *vaddrs, size_t n,
		       const char **names);

/* Frames of Go code, [0] the innermost: number, or -ENOENT. Reads the mapped file. */
int symbol_file_go_frames(struct symbol_file *f, uint64_t vaddr, struct gopclntab_frame *out,
			  size_t cap);

/* It will not be asked for a while: pages of the file that were read go back. */
void symbol_file_rest(const struct symbol_file *f);

/* Memory held by tables, and dropping them. */
size_t symbol_file_bytes(const struct symbol_file *f);
void symbol_file_trim(struct symbol_file *f);
