/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A condition on one label: =, !=, =~ or !~. A missing label matches like an empty one. Regular
 * expressions are anchored at both ends (PCRE2 syntax) and limited in run time. A matcher may not
 * be used by two threads at once. Matching follows Prometheus, as the recorded contract of
 * Pyroscope does: a client that sends {a!="x"} also selects series without the label a, and {a=""}
 * selects exactly these.
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

/*
 * Copies both strings. Returns 0, -EINVAL if the regular expression is invalid or longer than
 * MATCHER_MAX_PATTERN bytes (@err has the reason), or -ENOMEM.
 */
int matcher_new(struct matcher **out, enum matcher_op op, const char *name, const char *value,
		struct err *err);
void matcher_free(struct matcher *m);

DEFINE_FREEP(struct matcher, matcher_free)

/* The results of these functions are borrowed and valid until matcher_free(). */
const char *matcher_name(const struct matcher *m);
enum matcher_op matcher_op(const struct matcher *m);
const char *matcher_value(const struct matcher *m);

/*
 * Tests a label's value. An expression that exceeds its limits matches neither with =~ nor with !~,
 * neither this value nor any later one, and matcher_failed() is true from then on. @value need not
 * be terminated and may be invalid UTF-8.
 */
bool matcher_test(struct matcher *m, const char *value, size_t len);

/*
 * Has a test been given up? What was selected by this matcher is then incomplete. The store checks
 * it after each query.
 */
bool matcher_failed(const struct matcher *m);
