/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A cache of large results that were computed from a process's memory and are needed repeatedly,
 * such as the offsets of the lines of a script. It holds at most 64 entries and LANG_MEMO_BYTES;
 * the least recently used ones are evicted. It belongs to one registry and its thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

enum { LANG_MEMO_BYTES = 8 << 20 };

struct lang_memo;

/* Keys are compared as bytes, so the struct must not contain padding. */
struct lang_memo_key {
	uint64_t start_ns, addr, size;
	uint32_t pid, what; /* what: the kind of result, which the language defines */
};

int lang_memo_new(struct lang_memo **out);
void lang_memo_free(struct lang_memo *m);

DEFINE_FREEP(struct lang_memo, lang_memo_free)

/* Returns data borrowed until the next put, or NULL if there is none. @m may be NULL. */
const void *lang_memo_get(struct lang_memo *m, const struct lang_memo_key *key, size_t *out_len);

/*
 * Takes ownership of @data, which was allocated with malloc(). Frees it at once if it exceeds
 * LANG_MEMO_BYTES or @m is NULL.
 */
void lang_memo_put(struct lang_memo *m, const struct lang_memo_key *key, void *data, size_t len);

/* Returns the memory used, in bytes. @m may be NULL. */
size_t lang_memo_bytes(const struct lang_memo *m);
