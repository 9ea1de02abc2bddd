/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What differs between two profiles, function by function, and which differences
 * are only noise: samples are counts, whose chance is Poisson's.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "query/entries.h"
#include "query/top.h"

struct changes;

enum { CHANGE_BEFORE, CHANGE_AFTER, CHANGE_SIDES };

/* Deviations beyond which a difference is none of chance: one in 370 is, of those that are. */
#define CHANGE_MIN_Z 3.0

struct changes_options {
	size_t value_num[CHANGE_SIDES];
	bool normalize; /* compare shares: AFTER is scaled to the sum of BEFORE */
	struct stack_filter filter;
};

/* One number on both sides. */
struct change {
	int64_t value[CHANGE_SIDES];
	double z; /* how unlikely: in standard deviations, with the sign of the change */
};

struct change_row {
	struct entry entry; /* borrowed from the changes */
	struct change self, total;
};

/*
 * 0 and the rows that differ at all, those that changed most first; -EINVAL: no
 * such sample type; -ENOMEM. The profiles must live longer.
 */
int changes_build(struct changes **out, const struct profile *before, const struct profile *after,
		  const struct changes_options *opt);
void changes_free(struct changes *c);

DEFINE_FREEP(struct changes, changes_free)

size_t changes_n_rows(const struct changes *c);
const struct change_row *changes_row(const struct changes *c, size_t i);

/* Of everything; when normalized, the sums as they were. */
const struct change *changes_sum(const struct changes *c);

/* Is it known how many samples the values stand for? If not, no z is. */
bool changes_counted(const struct changes *c);

static inline int64_t change_delta(const struct change *c)
{
	int64_t d;

	if (__builtin_sub_overflow(c->value[CHANGE_AFTER], c->value[CHANGE_BEFORE], &d))
		return c->value[CHANGE_AFTER] < 0 ? INT64_MIN : INT64_MAX;
	return d;
}

static inline bool change_is_noise(const struct change *c)
{
	return c->z > -CHANGE_MIN_Z && c->z < CHANGE_MIN_Z;
}
