/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * `{service_name="shop", "host.name"=~"n.*"}` as matchers, from anybody. `{}`
 * is everything.
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

/* Add what @text says. 0; -EINVAL, and @err says what is wrong at which byte; -ENOMEM. */
int selector_parse(struct selector *s, const char *text, size_t len, struct err *err);
