/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A cache of symbolized native addresses, so that an agent does not symbolize the same code
 * again in every window. Bounded in size: the least recently used entries go first,
 * approximately. One thread, the symbolizer thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "symbol/symbol.h"

struct address_cache;

enum {
	ADDRESS_CACHE_FRAMES_MAX = 256
}; /* inlined calls at one address; further ones are omitted */

/* Key of an entry: a frame word, and the serial of the file that has its file id at present. */
struct address_cache_place {
	uint64_t word, serial;
};

/* @max_bytes limits the memory held; 0: no limit. Returns 0 or -ENOMEM. */
int address_cache_new(struct address_cache **out, size_t max_bytes);
void address_cache_free(struct address_cache *a);

DEFINE_FREEP(struct address_cache, address_cache_free)

/*
 * Stores @n frames, the innermost first; no frames: the address has no symbol. Texts are
 * copied. Returns 0 or -ENOMEM.
 */
int address_cache_put(struct address_cache *a, const struct address_cache_place *place,
		      const struct symbol_frame *frames, size_t n);

/* Finds an entry. Returns false if there is none. The frames are borrowed until the next call. */
bool address_cache_get(struct address_cache *a, const struct address_cache_place *place,
		       const struct symbol_frame **out, size_t *out_n);

/* Memory held, in bytes. */
size_t address_cache_bytes(const struct address_cache *a);

/* Drops all entries. */
void address_cache_clear(struct address_cache *a);
