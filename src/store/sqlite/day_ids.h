/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The blocks of the profiles with requested ids. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct err;
struct sqlite3;

struct day_ids {
	VEC(int64_t); /* ids of blocks, ascending */
};

/*
 * Finds the blocks of profiles with one of the @n ids. A hash collision only selects an additional
 * profile. Returns 0 or -errno. The caller frees @out with vec_fini(), on errors too.
 */
int day_ids_find(struct day_ids *out, struct sqlite3 *db, const char *const *ids, size_t n,
		 struct err *err);

bool day_ids_has(const struct day_ids *blocks, int64_t block);
