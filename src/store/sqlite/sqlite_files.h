/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Maintenance of a store's directory as a whole. Each function calls @fn once for each file.
 * Functions that change files lock the directory and fail with -EBUSY while a server has it open.
 * None leaves a partial file under a name that the store uses, also when power is lost.
 *
 * All return 0, -errno with the reason, or what @fn returned. -EUCLEAN: a file is damaged or lost;
 * for functions that change something, then nothing was changed. -EINVAL: not a store.
 */
#include "store/files.h"

struct err;

/*
 * Checks all files of the directory, next to a server if there is one. A damaged file is reported
 * to @fn, and the others are checked all the same; the result is then -EUCLEAN without a reason.
 */
int sqlite_files_check(const char *dir, store_file_fn fn, void *ctx, struct err *err);

/*
 * Rewrites all files, which frees unused space and converts files of older formats. Stops at the
 * first file that is damaged.
 */
int sqlite_files_compact(const char *dir, store_file_fn fn, void *ctx, struct err *err);

/*
 * Deletes windows. The manifest is changed accordingly, and each change of a file is recorded in
 * DIR/TENANT/deletions before it happens. Days that lie completely in the range, with all series,
 * are removed without being read, so that this also accepts the loss of a damaged file. Others must
 * be undamaged. @fn is called for the files that changed.
 */
int sqlite_files_delete(const char *dir, const struct store_deletion *del, store_file_fn fn,
			void *ctx, struct err *err);
