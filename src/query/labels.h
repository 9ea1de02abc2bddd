/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Which labels, values and series there are: sets of texts, sorted, none twice. */
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

enum { LABELS_MAX = 100000 };

/* 0; -EFBIG for more than LABELS_MAX; as the store says. */
int labels_names(struct label_set *out, struct store *s, const struct store_select *sel,
		 struct err *err);
int labels_values(struct label_set *out, struct store *s, const struct store_select *sel,
		  const char *name, struct err *err);

/*
 * Each text is NAME NUL VALUE NUL ..., ended by an empty name: those labels of a series that
 * are among @names, or all if there are none.
 */
int labels_series(struct label_set *out, struct store *s, const struct store_select *sel,
		  const char *const *names, size_t n, struct err *err);
