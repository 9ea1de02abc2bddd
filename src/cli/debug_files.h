/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Where the commands that record download debug files from, and where they cache them. */
#include <stddef.h>

struct symbolizer_opts;

/*
 * Sets the servers of @o to @urls, or to $DEBUGINFOD_URLS if it is NULL, and the cache to a
 * directory below $XDG_CACHE_HOME or ~/.cache. The path is written to @path, of @cap bytes, which
 * @o borrows together with @urls; without a home directory nothing is cached.
 */
void debug_files_configure(struct symbolizer_opts *o, const char *urls, char *path, size_t cap);
