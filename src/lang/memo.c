/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A handful of entries, searched one by one. Keys are compared bytewise: they have no padding.
 */
#include "lang/memo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES_MAX = 64 };

struct entry {
	struct lang_memo_key key;
	void *data; /* NULL: free */
	size_t len;
	uint64_t used;
};

struct lang_memo {
	struct entry entries[ENTRIES_MAX];
	size_t bytes;
	uint64_t now;
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
		e->used = ++m->now;
		*out_len = e->len;
		return e->data;
	}
	return NULL;
}

static void forget(struct lang_memo *m, struct entry *e)
{
	free(e->data);
	m->bytes -= e->len;
	*e = (struct entry){ 0 };
}

/* A free entry, or the one used longest ago. */
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
		forget(m, oldest_in_use(m));
	e = oldest(m);
	if (e->data)
		forget(m, e);
	*e = (struct entry){ .key = *key, .data = data, .len = len, .used = ++m->now };
	m->bytes += len;
}
