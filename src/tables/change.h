/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The differences between two profiles by function, and which of them are noise: sample counts vary
 * like Poisson counts.
 *
 * A sampled value is a count times a period. If the program did not change, two counts a and b of
 * one function differ by chance with a standard deviation of about the square root of a + b; z is
 * the difference divided by that deviation. The model assumes that samples are independent of each
 * other.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tables/entries.h"
#include "tables/top.h"

struct changes;

enum { CHANGE_BEFORE, CHANGE_AFTER, CHANGE_SIDES };

/*
 * Standard deviations below which a difference counts as noise. Chance alone exceeds 3 in one of
 * 370 cases.
 */
#define CHANGE_MIN_Z 3.0

struct changes_options {
	size_t value_num[CHANGE_SIDES];
	bool normalize; /* compare shares: scales CHANGE_AFTER to the sum of CHANGE_BEFORE */
	struct stack_filter filter;
};

/* A value in both profiles. */
struct change {
	int64_t value[CHANGE_SIDES];
	double z; /* the difference in standard deviations, with its sign; 0 if unknown */
};

struct change_row {
	struct entry entry; /* borrowed from the changes */
	struct change self, total;
};

/*
 * Returns 0 and the rows that differ, greatest change first; -EINVAL if there is no such sample
 * type; -ENOMEM. The profiles must outlive @out. A missing row on one side has the value 0 there.
 * Rows that are equal on both sides are omitted.
 */
int changes_build(struct changes **out, const struct profile *before, const struct profile *after,
		  const struct changes_options *opt);
void changes_free(struct changes *c);

DEFINE_FREEP(struct changes, changes_free)

size_t changes_n_rows(const struct changes *c);
const struct change_row *changes_row(const struct changes *c, size_t i);

/*
 * The sums of all samples, before any normalization. Its z is that of counts even if shares are
 * compared.
 */
const struct change *changes_sum(const struct changes *c);

/* False if it is unknown how many samples the values stand for; then z is always 0. */
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
