/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The table of `cameo store info` and `cameo server --store-info`. */

/*
 * Prints the disk space of each day in the directory of a SQLite store, or of the ClickHouse
 * database with this URL, to standard output. Returns an exit status, after reporting a failure.
 */
int store_info_print(const char *dir, const char *url);
