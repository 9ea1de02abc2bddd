/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A store in a local directory, with one SQLite file per tenant and UTC day (day_files.h). One
 * process at a time may open a directory. The directory must be on a local file system, because the
 * write-ahead log needs shared memory between connections. Days are opened when they are first
 * needed.
 */
#include "store/store.h"

/*
 * Returns 0, -EBUSY if another process has the directory open, or -errno. Creates the directory,
 * but not its parents. The path may have up to 3840 bytes. The caller closes *@out with
 * store_close().
 */
int sqlite_store_open(struct store **out, const struct store_options *opt, struct err *err);
