/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A table of interned sequences of elements of fixed size: equal sequences have one id, ids are
 * dense from 0. A table of single entries is a table of sequences of length 1.
 *
 * Elements are compared bytewise, so callers must zero their padding. Safe for untrusted data
 * (the hash is seeded); not thread-safe.
 *
 * It replaces six hash tables with different keys: mappings, functions, lines, locations, stacks
 * and label sets of a profile are all interned by this code.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/index.h"
#include "base/vec.h"

struct seqtab_row {
	uint32_t start, n; /* in elements */
};

struct seqtab {
	size_t elem_len; /* bytes */
	void *elems;
	size_t n_elems, cap; /* in elements */
	struct {
		VEC(struct seqtab_row);
	} rows;
	struct index index;
	uint64_t seed;
};

void seqtab_init(struct seqtab *t, size_t elem_len);

/* Frees the entries; the table is empty and usable again. */
void seqtab_fini(struct seqtab *t);

/* Allocates space for @n sequences of length 1 in total. Returns 0 or -ENOMEM. */
int seqtab_reserve(struct seqtab *t, size_t n);

/* Finds or adds the sequence of @n elements at @elems, which is copied. Returns 0 or -ENOMEM. */
int seqtab_add(struct seqtab *t, const void *elems, size_t n, uint32_t *out_id);

/* The sequence with this id, which must exist; valid until the next add. @out_n may be NULL. */
const void *seqtab_get(const struct seqtab *t, uint32_t id, size_t *out_n);

static inline uint32_t seqtab_count(const struct seqtab *t)
{
	return (uint32_t)t->rows.len;
}

/* Memory in bytes, for budgets. */
size_t seqtab_bytes(const struct seqtab *t);
