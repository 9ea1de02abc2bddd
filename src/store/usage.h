/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What takes the space: of each day's file, read beside whoever writes it. */
#include <stdint.h>

struct err;

/* What a file is made of; the rest is SQLite's own. */
enum usage_part {
#define X(sym, label, table, sql) USAGE_##sym,
#include "store/usage_parts.def"
#undef X
	USAGE_PARTS,
};

const char *usage_part_label(enum usage_part part);

struct usage_day {
	const char *tenant;
	int64_t start_ns;
	uint64_t bytes; /* on disk; where tenants share files, by their windows */
	uint64_t n_windows, n_series;
	uint64_t parts[USAGE_PARTS]; /* bytes */
};

/* Below 0 stops. */
typedef int (*usage_fn)(void *ctx, const struct usage_day *day);

/* Each day of the tenant, or of all if it is NULL, the oldest first. 0; as @fn; -errno. */
int usage_days(const char *dir, const char *tenant, usage_fn fn, void *ctx, struct err *err);
