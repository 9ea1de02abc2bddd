/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The table of what takes the time: of each entry what it took itself (the leaf
 * of a stack) and in all (anywhere in a stack; recursion counts once).
 */
#include <regex.h>
#include <stddef.h>
#include <stdint.h>

#include "query/entries.h"

struct top;

/* Which stacks count: a function of the stack matches @focus, none matches @ignore. */
struct stack_filter {
	const regex_t *focus, *ignore; /* either may be NULL */
};

struct top_options {
	size_t value_num; /* which sample type */
	enum entries_by by;
	const char *key; /* of ENTRIES_BY_LABEL */
	struct stack_filter filter;
};

struct top_row {
	uint32_t entry;
	int64_t self, total;
};

/* 0 and a new table, the largest self first; -EINVAL: no such sample type; -ENOMEM. */
int top_build(struct top **out, const struct profile *p, const struct top_options *opt);
void top_free(struct top *t);

DEFINE_FREEP(struct top, top_free)

size_t top_n_rows(const struct top *t);
const struct top_row *top_row(const struct top *t, size_t i);
struct entry top_entry(const struct top *t, const struct top_row *row);
int64_t top_sum(const struct top *t);     /* of all samples, whatever the filter */
int64_t top_counted(const struct top *t); /* of those that the filter leaves */

/*
 * The sample type people want when they name none (the profile's default, or its
 * last), or the one called @name: 0; -ENOENT; -EINVAL when the profile has none.
 */
int top_value_num(const struct profile *p, const char *name, size_t *out);

/* By stack: is it left by the filter? To be freed; NULL when memory ran out. */
uint8_t *stack_filter_run(const struct stack_filter *f, const struct profile *p);

/* Sums that do not wrap. */
static inline int64_t top_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}
