/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A directory of sorted symbol tables. The symbolizer makes and reads them (table_cache.h); this
 * module, in its parent, opens and writes files and does not interpret them. A compromised
 * symbolizer can store false tables. Not thread-safe; several processes may share a directory.
 */
#include <stdint.h>

#include "base/cleanup.h"

struct err;
struct siphash_key;
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

/* The key of the hash that names tables; borrowed. */
const struct siphash_key *symbol_cache_key(const struct symbol_cache *c);

/* Opens a table. Returns a descriptor owned by the caller, or -errno. */
int symbol_cache_get(struct symbol_cache *c, const char *name);

/*
 * Stores the sealed memory file @fd, which stays the caller's, under @name, in place of an older
 * one. Returns 0; -EINVAL for a name that no table has; -errno.
 */
int symbol_cache_put(struct symbol_cache *c, const char *name, int fd);
