/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Two profiles and their differences, which `diff` and `ci` print and judge by --fail-above.
 * Use: comparison_read() for each side, CHANGE_BEFORE first, comparison_build(), the others;
 * comparison_fini() in every case. One thread.
 *
 * Percentages are shares of the total before, even with normalize, because a function that is new
 * has no other base.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tables/change.h"

struct buf;
struct err;
struct profile;
struct sources;

struct comparison {
	/* Set by the caller. */
	bool normalize;    /* compare shares of the total */
	double fail_above; /* percent; negative: no growth is too much */

	/* Set by the functions below; NULL or 0 before. */
	struct profile *p[CHANGE_SIDES];
	size_t value_num[CHANGE_SIDES];
	struct changes *changes;
	const char *type, *unit; /* borrowed from the profile before */
	int64_t base;            /* the total before */
};

/* The option of both commands; the values of their options have a member fail_above. */
#define COMPARISON_FAIL_ABOVE                                                                      \
	OPTION(PERCENT, 0, "fail-above", "PERCENT", fail_above,                                    \
	       "Exit with status 1 if a function or the total grew by more than this share of "    \
	       "the total, unless chance explains the difference")

/*
 * Reads the profile number @side of @in as this side. Without --sample-type, the side after is read
 * as the type of the side before. Returns 0 or -errno with the reason.
 */
int comparison_read(struct comparison *v, const struct sources *in, size_t side, struct err *err);

/* Computes the differences of the two sides. Returns 0 or -ENOMEM. */
int comparison_build(struct comparison *v, struct err *err);
void comparison_fini(struct comparison *v);

/* A change in percent of the total before. */
double comparison_percent(const struct comparison *v, const struct change *c);

/*
 * One word for a change: "?" if the number of samples is unknown, "noise" if chance explains it,
 * else the direction, "more" or "less".
 */
const char *comparison_verdict(const struct comparison *v, const struct change *c);

enum { COMPARISON_GROWTH_LEN = 200 };

/*
 * Returns true if a function or the total grew by more than fail_above, unless chance explains it.
 * @out is then the largest growth, such as `"parse" grew by 7.10% of the total, more than 5%`.
 */
bool comparison_grew(const struct comparison *v, char out[COMPARISON_GROWTH_LEN]);

/*
 * Appends the page that shows the difference as a flame graph. It contains both profiles
 * completely, because it computes the difference itself. Returns 0 or -errno with the reason.
 */
int comparison_put_page(const struct comparison *v, const struct sources *in, struct buf *out,
			struct err *err);

/* Appends the table of functions that changed, at most @limit of them (0: all). */
void comparison_put_table(const struct comparison *v, uint64_t limit, struct buf *out);
