/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How much space a store uses, by UTC day and by kind of data. */
#include <stdint.h>

/* Kinds of data. The remaining bytes are the database's own overhead. */
enum store_usage_part {
#define X(sym, label) STORE_USAGE_##sym,
#include "store/usage_parts.def"
#undef X
	STORE_USAGE_PARTS,
};

/* The part's name in the API, for example "stacks"; a static string. */
const char *store_usage_part_label(enum store_usage_part part);

struct store_usage_day {
	const char *tenant; /* borrowed; valid during the callback */
	int64_t start_ns;   /* midnight UTC, nanoseconds since 1970 */
	uint64_t bytes;     /* on disk; an estimate by windows where tenants share files */
	uint64_t n_windows, n_series;
	uint64_t parts[STORE_USAGE_PARTS]; /* bytes by kind of data */
	const char *damage; /* why the day cannot be read, or NULL; then the numbers are 0 */
};

/* Called once per day and tenant. A negative return value stops the iteration and is passed on. */
typedef int (*store_usage_fn)(void *ctx, const struct store_usage_day *day);
