/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Disk space used by the day files of a directory. Runs next to a writer without blocking it. It
 * opens a connection per file, which costs milliseconds for each day: use it for reports, not per
 * request.
 */
#include "store/sqlite/db.h"
#include "store/usage.h"

struct err;

/*
 * Reports each day of @tenant, or of all tenants if it is NULL, oldest day first. Damaged
 * and lost files are reported as such, files removed meanwhile are skipped. @mode is DB_READ or
 * DB_REPLICA. Returns 0, the value with which @fn stopped, or -errno.
 */
int sqlite_usage_days(const char *dir, const char *tenant, enum db_mode mode, store_usage_fn fn,
		      void *ctx, struct err *err);
