/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A cache of sorted symbol tables on disk. The key of a table is a keyed hash
 * of its entire input: section headers, symbols, strings and the PLT. A build
 * id would not do, because any file can claim any build id. Not thread-safe;
 * several processes may share a directory.
 */
#include <stdint.h>

#include "base/cleanup.h"

struct elf_image;
struct elf_symtab;
struct err;
struct symbol_cache;

/*
 * Opens the cache in @dir (see cache_dir.h), limited to @max_bytes (0: 256 MiB). The secret key of
 * the hash is stored in the directory as well. Returns 0, -EPERM or -errno.
 */
int symbol_cache_open(struct symbol_cache **out, const char *dir, uint64_t max_bytes,
		      struct err *err);
void symbol_cache_free(struct symbol_cache *c);

DEFINE_FREEP(struct symbol_cache, symbol_cache_free)

/* Returns what symbol_cache_open() would, so that a command can fail before its work begins. */
int symbol_cache_check(const char *dir, struct err *err);

/**
 * symbol_cache_load() - load a symbol table from the cache or from @img
 *
 * @source is one of enum elf_symtab_source. On a miss the table is built by
 * elf_symtab_load() and stored. With @c NULL there is no cache. The function
 * reads the mapped file: call it under sigbus_run().
 *
 * Return: as elf_symtab_load().
 */
int symbol_cache_load(struct symbol_cache *c, const struct elf_image *img, unsigned int source,
		      struct elf_symtab **out);

/*
 * Parses the content of a cache file. @block was allocated by malloc(); ownership passes to the
 * function, also on failure. Returns 0, -EBADMSG or -ENOMEM.
 */
int symbol_cache_parse(struct elf_symtab **out, void *block, size_t len);
