/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All elements lie in one growing array. A row stores where a sequence starts and its length; an
 * index finds the row of an equal sequence. Nothing is ever removed.
 */
#include "profile/seqtab.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct seqtab_key {
	const struct seqtab *t;
	const void *elems;
	size_t n;
};

void seqtab_init(struct seqtab *t, size_t elem_len)
{
	*t = (struct seqtab){ .elem_len = elem_len, .seed = hash_seed() };
}

void seqtab_fini(struct seqtab *t)
{
	free(t->elems);
	vec_fini(&t->rows);
	index_fini(&t->index);
	*t = (struct seqtab){ .elem_len = t->elem_len, .seed = t->seed };
}

const void *seqtab_get(const struct seqtab *t, uint32_t id, size_t *out_n)
{
	struct seqtab_row row = t->rows.data[id];

	if (out_n)
		*out_n = row.n;
	return row.n ? (const uint8_t *)t->elems + row.start * t->elem_len : NULL;
}

static bool seqtab_eq(const void *ctx, uint32_t id)
{
	const struct seqtab_key *k = ctx;
	size_t n;
	const void *elems = seqtab_get(k->t, id, &n);

	return n == k->n && (!n || !memcmp(elems, k->elems, n * k->t->elem_len));
}

/* Allocates space for one sequence, so that seqtab_add() changes nothing if it fails. */
static int reserve_one(struct seqtab *t, size_t n)
{
	int r;

	if (n > UINT32_MAX - t->n_elems || t->rows.len >= UINT32_MAX - 1)
		return -ENOMEM;
	r = vec_grow(&t->elems, &t->cap, t->n_elems + n, t->elem_len);
	if (r < 0)
		return r;
	return vec_reserve(&t->rows, t->rows.len + 1);
}

/* Longer sequences make the array grow later. */
int seqtab_reserve(struct seqtab *t, size_t n)
{
	int r = vec_grow(&t->elems, &t->cap, n, t->elem_len);

	if (r == 0)
		r = vec_reserve(&t->rows, n);
	return r < 0 ? r : index_reserve(&t->index, n);
}

int seqtab_add(struct seqtab *t, const void *elems, size_t n, uint32_t *out_id)
{
	struct seqtab_key key = { t, elems, n };
	uint32_t hash = hash_seeded(t->seed, elems, n * t->elem_len);
	uint32_t id = seqtab_count(t);
	int r;

	if (index_find(&t->index, hash, seqtab_eq, &key, out_id))
		return 0;
	r = reserve_one(t, n);
	if (r < 0)
		return r;
	r = index_add(&t->index, hash, id);
	if (r < 0)
		return r;
	if (n)
		memcpy((uint8_t *)t->elems + t->n_elems * t->elem_len, elems, n * t->elem_len);
	t->rows.data[t->rows.len++] = (struct seqtab_row){ (uint32_t)t->n_elems, (uint32_t)n };
	t->n_elems += n;
	*out_id = id;
	return 0;
}

size_t seqtab_bytes(const struct seqtab *t)
{
	return t->cap * t->elem_len + t->rows.cap * sizeof(*t->rows.data) +
	       t->index.n_slots * sizeof(*t->index.slots);
}
