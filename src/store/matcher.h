/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One condition on a label: = != =~ !~. A label that is missing equals "". Regular
 * expressions are anchored at both ends; how long one may run is limited.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct err;
struct matcher;

enum matcher_op {
	MATCHER_EQ,
	MATCHER_NE,
	MATCHER_RE,
	MATCHER_NOT_RE,
};

enum { MATCHER_MAX_PATTERN = 4096 };

/* 0; -EINVAL for an expression that is none or is too long; -ENOMEM. The strings are copied. */
int matcher_new(struct matcher **out, enum matcher_op op, const char *name, const char *value,
		struct err *err);
void matcher_free(struct matcher *m);

DEFINE_FREEP(struct matcher, matcher_free)

const char *matcher_name(const struct matcher *m);
enum matcher_op matcher_op(const struct matcher *m);
const char *matcher_value(const struct matcher *m);

/* An expression that ran too long matches nothing. */
bool matcher_test(const struct matcher *m, const char *value, size_t len);
