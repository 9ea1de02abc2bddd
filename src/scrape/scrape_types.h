/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The profiles that can be scraped. Pure functions; constants. */
#include <stdbool.h>
#include <stdint.h>

struct err;

enum scrape_type {
#define X(sym, ...) SCRAPE_##sym,
#include "scrape/scrape_types.def"
#undef X
	SCRAPE_TYPE_MAX,
};

/* The period that values of types such as alloc_space cover in a response. */
enum scrape_values {
	SCRAPE_CURRENT,    /* no such types: values of the moment, or of the request */
	SCRAPE_CUMULATIVE, /* since the program's start */
	SCRAPE_DELTA,      /* since the previous response */
};

/* Types that one target can have at once: those with distinct names. */
enum { SCRAPE_TYPES_AT_ONCE = 5 };

struct scrape_type_info {
	const char *option, *name, *path;
	bool is_timed;
	enum scrape_values values;
};

extern const struct scrape_type_info scrape_types[SCRAPE_TYPE_MAX];

/*
 * Reads a list such as "cpu,memory" into bits (1 << enum scrape_type). Two types of the same name
 * are an error. Returns 0 or -EINVAL.
 */
int scrape_types_parse(const char *list, uint32_t *out, struct err *err);
/* Checks an option (struct option_spec). Returns 0 or -EINVAL. */
int scrape_types_check(const char *list, struct err *err);
