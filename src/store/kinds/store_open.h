/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The kinds of store that exist, and how one is chosen. */
#include "store/usage.h"

struct err;
struct store;
struct store_options;

/*
 * Opens the store that @opt describes: a ClickHouse database if it has a URL, else SQLite files
 * in its directory. The caller closes *@out with store_close(). Returns 0, or -errno with the
 * reason in @err.
 */
int store_open(struct store **out, const struct store_options *opt, struct err *err);

/*
 * Reports the disk space of each day in the directory of a SQLite store, oldest day first. The
 * store need not be open, and another process may have it open. Returns the same values as
 * store_days().
 */
int store_directory_usage(const char *dir, store_usage_fn fn, void *ctx, struct err *err);
