/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings are packed into blocks that never move. The id of a string is its position in an array of
 * {pointer, length} whose elements do not move either; an index finds the id of equal bytes.
 */
#include "base/strtab.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/stable.h"

enum { STRTAB_BLOCK_LEN = 64 * 1024 };

struct strtab_block {
	struct strtab_block *next;
	char bytes[];
};

struct strtab_entry {
	const char *s;
	size_t len;
};

struct strtab {
	struct strtab_block *blocks; /* newest first */
	size_t used, room;           /* in the newest block */
	size_t bytes;
	uint64_t seed;
	struct index index;
	struct stable entries; /* of struct strtab_entry */
};

struct strtab_key {
	const struct strtab *t;
	const char *s;
	size_t len;
};

static const struct strtab_entry *entry_at(const struct strtab *t, uint32_t id)
{
	return stable_at(&t->entries, id);
}

static bool strtab_eq(const void *ctx, uint32_t id)
{
	const struct strtab_key *k = ctx;
	const struct strtab_entry *e = entry_at(k->t, id);

	return e->len == k->len && (!k->len || !memcmp(e->s, k->s, k->len));
}

/* Copies @s into the newest block, or into a new one if it does not fit. NULL: no memory. */
static const char *strtab_store(struct strtab *t, const char *s, size_t len)
{
	struct strtab_block *b;
	char *to;

	if (len >= SIZE_MAX - STRTAB_BLOCK_LEN)
		return NULL;
	if (t->room - t->used < len + 1) {
		size_t room = len + 1 > STRTAB_BLOCK_LEN ? len + 1 : STRTAB_BLOCK_LEN;

		b = malloc(sizeof(*b) + room);
		if (!b)
			return NULL;
		b->next = t->blocks;
		t->blocks = b;
		t->used = 0;
		t->room = room;
		t->bytes += room;
	}
	to = t->blocks->bytes + t->used;
	if (len)
		memcpy(to, s, len);
	to[len] = '\0';
	t->used += len + 1;
	return to;
}

int strtab_find(const struct strtab *t, const char *s, size_t len, uint32_t *out_id)
{
	const struct strtab_key key = { t, s, len };

	return index_find(&t->index, hash_seeded(t->seed, s, len), strtab_eq, &key, out_id)
		       ? 0
		       : -ENOENT;
}

int strtab_add(struct strtab *t, const char *s, size_t len, uint32_t *out_id)
{
	struct strtab_key key = { t, s, len };
	uint32_t hash = hash_seeded(t->seed, s, len);
	uint32_t id = strtab_count(t);
	struct strtab_entry entry = { .len = len };
	int r;

	if (index_find(&t->index, hash, strtab_eq, &key, out_id))
		return 0;
	if (id >= UINT32_MAX - 1)
		return -ENOMEM;
	entry.s = strtab_store(t, s, len);
	r = entry.s ? stable_reserve(&t->entries, (size_t)id + 1) : -ENOMEM;
	if (r == 0)
		r = index_add(&t->index, hash, id);
	if (r < 0)
		return r;
	*out_id = id;
	return stable_push(&t->entries, &entry);
}

int strtab_new(struct strtab **out)
{
	struct strtab *t = calloc(1, sizeof(*t));
	uint32_t id;

	if (!t)
		return -ENOMEM;
	t->seed = hash_seed();
	stable_init(&t->entries, sizeof(struct strtab_entry));
	if (strtab_add(t, "", 0, &id) < 0) {
		strtab_free(t);
		return -ENOMEM;
	}
	*out = t;
	return 0;
}

int strtab_reserve(struct strtab *t, size_t n)
{
	int r = stable_reserve(&t->entries, n);

	return r < 0 ? r : index_reserve(&t->index, n);
}

void strtab_free(struct strtab *t)
{
	struct strtab_block *next;

	if (!t)
		return;
	for (struct strtab_block *b = t->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	index_fini(&t->index);
	stable_fini(&t->entries);
	free(t);
}

const char *strtab_get(const struct strtab *t, uint32_t id)
{
	return entry_at(t, id)->s;
}

size_t strtab_len(const struct strtab *t, uint32_t id)
{
	return entry_at(t, id)->len;
}

uint32_t strtab_count(const struct strtab *t)
{
	return stable_len(&t->entries);
}

size_t strtab_bytes(const struct strtab *t)
{
	return t->bytes + stable_bytes(&t->entries) + t->index.n_slots * sizeof(*t->index.slots);
}
