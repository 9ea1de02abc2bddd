/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Parses selectors such as `{service_name="shop", "host.name"=~"n.*"}`, which come from untrusted
 * clients. `{}` matches everything.
 *
 * The grammar is that of Prometheus without a metric name, as Pyroscope uses it. A missing label
 * equals the empty value, as there. Limits bound the work per series rather than the text: each
 * matcher is applied to each series of a query. Regular expressions have limits of their own
 * (matcher_new()).
 */
#include <stddef.h>

#include "base/vec.h"

struct err;
struct matcher;

enum {
	SELECTOR_MAX_LEN = 16384,
	SELECTOR_MAX_MATCHERS = 64,
};

struct selector {
	VEC(struct matcher *);
};

void selector_fini(struct selector *s);

/*
 * Adds the matchers of @text to @s. Returns 0, -EINVAL with the mistake and its position in @err,
 * or -ENOMEM. After an error @s may hold the matchers before the mistake; free it with
 * selector_fini() in any case. Several texts can be parsed into one selector, and the limit then
 * applies to all of them.
 */
int selector_parse(struct selector *s, const char *text, size_t len, struct err *err);
