/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Replaces the day's file at @path, which has the current format, by one of an older @format, as
 * the version that introduced it wrote it: without what later formats added, which is checksums of
 * pages (3), checksums of blobs and an identity (2). A file of format 1 also lacks the tables of
 * sums and owners, which were added later. The manifest of its directory is removed.
 */
void old_format_make(const char *path, int format);
