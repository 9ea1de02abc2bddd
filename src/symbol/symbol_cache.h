/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sorted symbol tables kept on disk. A table is found by a keyed hash of all
 * that it was made from - the sections' headers, the symbols, their names, the
 * PLT - and not by a build id, which any file can claim.
 */
#include <stdint.h>

#include "base/cleanup.h"

struct elf_image;
struct elf_symtab;
struct err;
struct symbol_cache;

/*
 * @dir as in cache_dir.h; @max_bytes 0: 256 MiB. The hash's key lies in the directory, too.
 * 0, -EPERM, -errno.
 */
int symbol_cache_open(struct symbol_cache **out, const char *dir, uint64_t max_bytes,
		      struct err *err);
void symbol_cache_free(struct symbol_cache *c);

DEFINE_FREEP(struct symbol_cache, symbol_cache_free)

/* Can @dir be opened as one? The same results: for telling so before work begins. */
int symbol_cache_check(const char *dir, struct err *err);

/**
 * symbol_cache_load() - elf_symtab_load(), or the table it gave before
 *
 * @source is one of enum elf_symtab_source. Reads @img: run it under
 * sigbus_run(). @c may be NULL.
 */
int symbol_cache_load(struct symbol_cache *c, const struct elf_image *img, unsigned int source,
		      struct elf_symtab **out);

/* What a file of the cache holds, @block of malloc()'s, which is used up. 0, -EBADMSG, -ENOMEM. */
int symbol_cache_parse(struct elf_symtab **out, void *block, size_t len);
