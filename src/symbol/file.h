/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parts of one ELF file that the privileged process reads itself: .symtab,
 * .dynsym, Go's pclntab, and the facts that decide whether the symbol worker
 * has more (DWARF, .gnu_debugdata). Tables are loaded on first use. Not
 * thread-safe.
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
 * Takes ownership of @fd, also on failure. @cache may be NULL and must outlive the file. Returns 0
 * or -ENOMEM. A file in another format than ELF is accepted and has no symbols.
 */
int symbol_file_new(struct symbol_file **out, int fd, struct symbol_cache *cache);
void symbol_file_free(struct symbol_file *f);

int symbol_file_fd(const struct symbol_file *f);
const struct elf_build_id *symbol_file_build_id(const struct symbol_file *f);

/* Returns the file name in .gnu_debuglink, or NULL, and its CRC in *@out_crc. */
const char *symbol_file_debuglink(const struct symbol_file *f, uint32_t *out_crc);

/* Return true if the file itself contains DWARF; DWARF or .gnu_debugdata; Ada code. */
bool symbol_file_has_dwarf(const struct symbol_file *f);
bool symbol_file_has_debug(const struct symbol_file *f);
bool symbol_file_is_ada(struct symbol_file *f);

/* Converts a file offset to a virtual address. Returns -ENOENT if no segment maps the offset. */
int symbol_file_vaddr(const struct symbol_file *f, uint64_t file_off, uint64_t *out);

/*
 * Writes to @names the raw symbol at each of the @n addresses in @vaddrs, or NULL. Entries of
 * UINT64_MAX are skipped. The strings are valid until the next call for the same table. @vaddrs is
 * overwritten. At most ELF_SCAN_MAX addresses are looked up by one pass over the unsorted table,
 * which needs no memory; more addresses cause the table to be sorted and retained.
 */
void symbol_file_find_names(struct symbol_file *f, enum symbol_table which, uint64_t *vaddrs,
			    size_t n, const char **names);

/*
 * Writes the Go frames at @vaddr, [0] the innermost. Returns their number or -ENOENT. Reads the
 * mapped file: call it under sigbus_run().
 */
int symbol_file_go_frames(struct symbol_file *f, uint64_t vaddr, struct gopclntab_frame *out,
			  size_t cap);

/* Releases the resident pages of the mapped file, for a file that will be idle. */
void symbol_file_release_pages(const struct symbol_file *f);

/* Return the memory held by the tables, and drop the tables. */
size_t symbol_file_bytes(const struct symbol_file *f);
void symbol_file_trim(struct symbol_file *f);
