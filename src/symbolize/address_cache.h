/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A cache of symbolized native addresses, so that an agent does not symbolize the same code
 * again in every window. Its memory is bounded: the least recently used entries are evicted first,
 * approximately. A failed lookup is an entry as well. One thread, the symbolizer thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "symbol/symbol.h"

struct address_cache;

/* The number of functions that are stored for one address; further inlined calls are omitted. */
enum { ADDRESS_CACHE_FRAMES_MAX = 256 };

/*
 * Key of an entry: a frame word, and the serial of the file that has its file id at present.
 * File ids are reused after an eviction, serials are not, so an entry never describes another file.
 */
struct address_cache_place {
	uint64_t word, serial;
};

/*
 * @max_bytes is the approximate limit on the memory held, since an old entry that is used again
 * exists twice for some time; 0: no limit. Returns 0 or -ENOMEM.
 */
int address_cache_new(struct address_cache **out, size_t max_bytes);
void address_cache_free(struct address_cache *a);

DEFINE_FREEP(struct address_cache, address_cache_free)

/*
 * Stores @n frames, the innermost first; no frames: the address has no symbol. Texts are
 * copied. Returns 0 or -ENOMEM.
 */
int address_cache_put(struct address_cache *a, const struct address_cache_place *place,
		      const struct symbol_frame *frames, size_t n);

/*
 * Finds an entry. Returns false if there is none, or if memory ran out while it was marked as used.
 * The frames are borrowed until the next call with @a.
 */
bool address_cache_get(struct address_cache *a, const struct address_cache_place *place,
		       const struct symbol_frame **out, size_t *out_n);

/* Memory held, in bytes. */
size_t address_cache_bytes(const struct address_cache *a);

/* Drops all entries. */
void address_cache_clear(struct address_cache *a);

/* Drops the entries that were not used since the last call. */
void address_cache_age(struct address_cache *a);
