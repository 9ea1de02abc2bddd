/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Replaces the day's file at @path, which has the current format, by one of format 1, as the
 * version that introduced it wrote it: its schema, no checksums, no identity, and no tables of sums
 * and owners, which were added later. The manifest of its directory is removed.
 */
void format_1_make(const char *path);
