/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Interned sequences: equal runs of fixed-size elements have one id, ids are
 * dense from 0. A table of single things is a table of sequences of one.
 *
 * Elements are compared by their bytes: the caller zeroes their padding.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/index.h"
#include "base/vec.h"

struct seqtab_row {
	uint32_t start, n; /* in elements */
};

struct seqtab {
	size_t elem_len;
	void *elems;
	size_t n_elems, cap;
	struct {
		VEC(struct seqtab_row);
	} rows;
	struct index index;
	uint64_t seed;
};

void seqtab_init(struct seqtab *t, size_t elem_len);
void seqtab_fini(struct seqtab *t);

/* Make room for @n sequences of one in all: 0 or -ENOMEM. */
int seqtab_make_room(struct seqtab *t, size_t n);

/* The id of the @n elements at @elems, added if new. 0 or -ENOMEM. */
int seqtab_add(struct seqtab *t, const void *elems, size_t n, uint32_t *out_id);

/* Borrowed until the next add; @id must be one it gave out. @out_n may be NULL. */
const void *seqtab_get(const struct seqtab *t, uint32_t id, size_t *out_n);

static inline uint32_t seqtab_count(const struct seqtab *t)
{
	return (uint32_t)t->rows.len;
}

/* Bytes it holds, for budgets. */
size_t seqtab_bytes(const struct seqtab *t);
