/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sorted symbol tables that outlive the process, in the symbolizer: it computes their names and
 * checks their contents, but the files belong to its parent (symbol_cache.h). The name of a table
 * is a keyed hash of its entire input: section headers, symbols, strings and the PLT. A build id
 * would not do, because any file can claim any build id.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/siphash.h"

struct elf_image;
struct elf_symtab;

#define TABLE_CACHE_SUFFIX ".symbols"

enum {
	TABLE_CACHE_NAME_CAP = 2 * 16 + sizeof(TABLE_CACHE_SUFFIX),
	TABLE_CACHE_FILE_MAX = 512 << 20,
};

struct table_cache {
	struct siphash_key key;
	/* Returns a descriptor of the table, which passes to the caller, or -errno. */
	int (*get)(void *ctx, const char *name);
	/* Replaces the table by the sealed memory file @fd, which it owns. */
	void (*put)(void *ctx, const char *name, int fd);
	void *ctx;
};

/**
 * table_cache_load() - load a symbol table from the cache or from @img
 *
 * @source is one of enum elf_symtab_source. On a miss the table is built by elf_symtab_load() and
 * passed to put(). With @c NULL there is no cache. The function reads the mapped file: call it
 * under sigbus_run().
 *
 * Return: as elf_symtab_load().
 */
int table_cache_load(const struct table_cache *c, const struct elf_image *img, unsigned int source,
		     struct elf_symtab **out);

/*
 * Parses a cached table. @block was allocated by malloc(); ownership passes to the function, also
 * on failure. Returns 0, -EBADMSG or -ENOMEM.
 */
int table_cache_parse(struct elf_symtab **out, void *block, size_t len);
