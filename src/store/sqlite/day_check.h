/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads everything in a day's file and compares it: the pages of SQLite, the checksum of each blob,
 * the numbers by which rows refer to each other, and totals with the values that they sum. A server
 * may have the file open, and sees one state of it. Any thread; memory for the day's dictionary.
 */
#include <stdint.h>

#include "store/sqlite/db.h"

struct day_check {
	struct db_identity identity;
	uint64_t n_windows;
	int format;
};

/*
 * Checks the file of the day with this number (since 1970). Returns 0; -EBADMSG with the first
 * damage in @err; -ENOENT; -ENODATA if the file is empty; -errno.
 */
int day_check(const char *path, int64_t number, struct day_check *out, struct err *err);
