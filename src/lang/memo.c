/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fixed array that is searched linearly: entries are few and large, so the search costs nothing
 * next to the computation that a hit saves.
 */
#include "lang/memo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES_MAX = 64 };

struct entry {
	struct lang_memo_key key;
	void *data; /* owned; NULL: the entry is free */
	size_t len;
	uint64_t used; /* value of the clock at the last use; 0: the entry is free */
};

struct lang_memo {
	struct entry entries[ENTRIES_MAX];
	size_t bytes;   /* sum of len */
	uint64_t clock; /* counts uses */
};

int lang_memo_new(struct lang_memo **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void lang_memo_free(struct lang_memo *m)
{
	for (size_t i = 0; m && i < ENTRIES_MAX; i++)
		free(m->entries[i].data);
	free(m);
}

size_t lang_memo_bytes(const struct lang_memo *m)
{
	return m ? sizeof(*m) + m->bytes : 0;
}

const void *lang_memo_get(struct lang_memo *m, const struct lang_memo_key *key, size_t *out_len)
{
	for (size_t i = 0; m && i < ENTRIES_MAX; i++) {
		struct entry *e = &m->entries[i];

		if (!e->data || memcmp(&e->key, key, sizeof(*key)))
			continue;
		e->used = ++m->clock;
		*out_len = e->len;
		return e->data;
	}
	return NULL;
}

static void evict(struct lang_memo *m, struct entry *e)
{
	free(e->data);
	m->bytes -= e->len;
	*e = (struct entry){ 0 };
}

/* Returns a free entry, or the least recently used one if there is none. */
static struct entry *oldest(struct lang_memo *m)
{
	struct entry *best = &m->entries[0];

	for (size_t i = 1; i < ENTRIES_MAX; i++)
		if (m->entries[i].used < best->used)
			best = &m->entries[i];
	return best;
}

static struct entry *oldest_in_use(struct lang_memo *m)
{
	struct entry *best = NULL;

	for (size_t i = 0; i < ENTRIES_MAX; i++)
		if (m->entries[i].data && (!best || m->entries[i].used < best->used))
			best = &m->entries[i];
	return best;
}

void lang_memo_put(struct lang_memo *m, const struct lang_memo_key *key, void *data, size_t len)
{
	struct entry *e;

	if (!m || !data || len > LANG_MEMO_BYTES) {
		free(data);
		return;
	}
	while (m->bytes + len > LANG_MEMO_BYTES)
		evict(m, oldest_in_use(m));
	e = oldest(m);
	if (e->data)
		evict(m, e);
	*e = (struct entry){ .key = *key, .data = data, .len = len, .used = ++m->clock };
	m->bytes += len;
}
