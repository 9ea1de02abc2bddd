/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The symbolizer's knowledge of one ELF file without its debug information: .symtab, .dynsym, Go's
 * pclntab, where functions begin, and the facts that decide where more is. Tables are loaded on
 * first use. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/note.h"
#include "symbol/demangle.h"

struct elf_image;
struct gopclntab_frame;
struct protocol_facts;
struct symbol_file;
struct table_cache;

enum symbol_table {
	SYMBOL_TABLE_SYMTAB,
	SYMBOL_TABLE_DYNSYM,
	SYMBOL_TABLE_MAX,
};

/* Returns 0 or -ENOMEM. */
int symbol_file_new(struct symbol_file **out);
void symbol_file_free(struct symbol_file *f);

/*
 * Begins a use of the file: until symbol_file_idle(), the functions below may read @fd and call
 * @cache, both borrowed; @cache may be NULL. The descriptor is one of the same file each time. A
 * file in another format than ELF is accepted and has no symbols.
 */
void symbol_file_use(struct symbol_file *f, int fd, const struct table_cache *cache);

/* The descriptor of the present use. */
int symbol_file_fd(const struct symbol_file *f);

/* Unmaps the file, or releases its resident pages if tables refer to it. */
void symbol_file_idle(struct symbol_file *f);

/* Writes what the parent needs to know. */
void symbol_file_facts(const struct symbol_file *f, struct protocol_facts *out);

const struct elf_build_id *symbol_file_build_id(const struct symbol_file *f);

/* Returns the file name in .gnu_debuglink, or NULL, and its CRC in *@out_crc. */
const char *symbol_file_debuglink(const struct symbol_file *f, uint32_t *out_crc);

/* Return true if the file itself contains DWARF; .gnu_debugdata. */
bool symbol_file_has_dwarf(const struct symbol_file *f);
bool symbol_file_has_minidebug(const struct symbol_file *f);

/* Returns how the file's symbols are encoded. */
enum demangle_scheme symbol_file_scheme(struct symbol_file *f);

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

/*
 * Finds the start of the function at @vaddr without its symbol. *@out_start is @vaddr if that is
 * unknown. Returns the name of a function that the start-up code shows or that ends stacks, such as
 * "main" or "_start"; NULL for others.
 */
const char *symbol_file_function(struct symbol_file *f, uint64_t vaddr, uint64_t *out_start);

/* Return the memory held by the tables, and drop the tables. Not while the file is used. */
size_t symbol_file_bytes(const struct symbol_file *f);
void symbol_file_trim(struct symbol_file *f);

/* Bytes of the file that stay mapped between uses. */
size_t symbol_file_mapped(const struct symbol_file *f);
