/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What was worked out of a process and is asked for again: few and large things, such
 * as where the lines of a script begin. Those used longest ago go.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

enum { LANG_MEMO_BYTES = 8 << 20 };

struct lang_memo;

struct lang_memo_key {
	uint64_t start_ns, addr, size;
	uint32_t pid, what;
};

int lang_memo_new(struct lang_memo **out);
void lang_memo_free(struct lang_memo *m);

DEFINE_FREEP(struct lang_memo, lang_memo_free)

/* Borrowed until the next put; NULL: it is not there. @m may be NULL. */
const void *lang_memo_get(struct lang_memo *m, const struct lang_memo_key *key, size_t *out_len);

/* Takes @data, which malloc() gave; frees it at once if there is no room, or no @m. */
void lang_memo_put(struct lang_memo *m, const struct lang_memo_key *key, void *data, size_t len);

size_t lang_memo_bytes(const struct lang_memo *m);
