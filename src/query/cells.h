/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Values in short steps of a range, by when each sample was taken. */
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/vec.h"

struct err;
struct store;
struct store_select;

enum { CELLS_MAX = 1 << 20 };

/* Windows that began before a range reach into it, if not longer ago than this. */
#define CELLS_LONGEST_WINDOW_NS (120 * (int64_t)CLOCK_SECOND_NS)

struct cells {
	VEC(int64_t);
	int64_t total; /* of the windows that begin in the range */
	int64_t timed; /* of samples in the range whose time is known */
};

void cells_fini(struct cells *c);

/* 0; -EINVAL for more than CELLS_MAX; as the store says. */
int cells_build(struct cells *out, struct store *s, const struct store_select *sel, int64_t cell_ms,
		struct err *err);
