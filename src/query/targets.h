/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Who sends: since when, until when, how much. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "query/groups.h"

struct err;
struct store;
struct store_select;

enum { TARGETS_MAX = 100000, TARGETS_MAX_BY = 16 };

struct target {
	int64_t first_ns, last_ns;
	uint64_t n_windows;    /* of the type that has most */
	int64_t samples, lost; /* below 0: not told */
};

struct targets {
	VEC(struct target); /* by group */
	struct groups groups;
};

void targets_fini(struct targets *t);

/* 0; -EFBIG for more than TARGETS_MAX; as the store says. At most TARGETS_MAX_BY labels. */
int targets_build(struct targets *out, struct store *s, const struct store_select *sel,
		  const char *const *by, size_t n_by, struct err *err);
