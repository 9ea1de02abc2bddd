/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A table of values by entry: self (where it is the leaf of a stack) and total (anywhere in a
 * stack; recursion counts once).
 *
 * With entries that are properties of samples (processes, threads, labels), self and total are
 * equal. Negative values, as in the difference of two profiles, are summed like others.
 */
#include <regex.h>
#include <stddef.h>
#include <stdint.h>

#include "tables/entries.h"

struct top;

/*
 * Retains stacks with a function that matches @focus and none that matches @ignore. The expressions
 * are borrowed and compiled by the caller, which chooses their flags.
 */
struct stack_filter {
	const regex_t *focus, *ignore; /* either may be NULL */
};

struct top_options {
	size_t value_num; /* index of the sample type */
	enum entries_by by;
	const char *key; /* the label of ENTRIES_BY_LABEL */
	struct stack_filter filter;
};

struct top_row {
	uint32_t entry;
	int64_t self, total;
};

/*
 * Returns 0 and a new table, greatest self value first; -EINVAL if there is no such sample type;
 * -ENOMEM. @p must outlive the table.
 */
int top_build(struct top **out, const struct profile *p, const struct top_options *opt);
void top_free(struct top *t);

DEFINE_FREEP(struct top, top_free)

/* Frames whose stacks all have the value 0 have no rows. */
size_t top_n_rows(const struct top *t);
const struct top_row *top_row(const struct top *t, size_t i);
struct entry top_entry(const struct top *t, const struct top_row *row);
int64_t top_sum(const struct top *t);     /* of all samples, regardless of the filter */
int64_t top_counted(const struct top *t); /* of the samples that the filter retains */

/*
 * Finds the index of the sample type @name or, if it is NULL, of the profile's default or else its
 * last one. Returns 0; -ENOENT if there is none of this name; -EINVAL if the profile has no sample
 * types.
 */
int top_value_num(const struct profile *p, const char *name, size_t *out);

/*
 * Returns an array by stack, true for those that the filter retains; free it. NULL if memory ran
 * out.
 */
uint8_t *stack_filter_apply(const struct stack_filter *f, const struct profile *p);
