/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The label names, label values or series in a range: a sorted set of texts without duplicates. The
 * order is that of bytes, which is the same in every locale.
 */
#include <stddef.h>

#include "base/vec.h"

struct err;
struct store;
struct store_select;
struct strtab;

struct label_set {
	VEC(const char *);
	struct strtab *texts;
};

void label_set_fini(struct label_set *s);

enum { LABEL_SET_MAX = 100000 };

/*
 * Return 0, -EFBIG beyond LABEL_SET_MAX, or an error of store_series(). Free @out in either case.
 */
int label_set_query_names(struct label_set *out, struct store *s, const struct store_select *sel,
			  struct err *err);
int label_set_query_values(struct label_set *out, struct store *s, const struct store_select *sel,
			   const char *name, struct err *err);

/*
 * Each text is NAME NUL VALUE NUL ..., ended by an empty name. It has those labels of a series that
 * are among @names, or all labels if @n is 0.
 */
int label_set_query_series(struct label_set *out, struct store *s, const struct store_select *sel,
			   const char *const *names, size_t n, struct err *err);
