/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The servers from which recording commands download debug files, and the directory of the cache.
 */
#include <stddef.h>

struct symbolizer_opts;

/*
 * Sets the servers of @o to @urls, or to $DEBUGINFOD_URLS if it is NULL, and the cache to a
 * directory below $XDG_CACHE_HOME or ~/.cache. The path is written to @path, of @cap bytes, which
 * @o borrows together with @urls; without a home directory nothing is cached.
 */
void debug_files_configure(struct symbolizer_opts *o, const char *urls, char *path, size_t cap);
