/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Copies of a whole store: backups, and stores restored from them. Files are copied page by page in
 * one state each, next to a server if there is one, and each copy is checked completely.
 */
#include "store/files.h"

struct err;

/*
 * A directory of this name in a store's directory means that a copy was interrupted. It is not a
 * valid name of a tenant.
 */
#define SQLITE_COPY_STAGING "+incomplete"

/*
 * Copies the store in @from to @to, which must be missing or empty, and calls @fn for each file
 * that was copied. Everything is in a staging directory until the last file is complete. Returns
 * 0; -EUCLEAN if a file of @from is damaged or lost; -ENOTEMPTY; -EBUSY if another process
 * uses @to; -ENOSPC; -errno. After a failure @to is unchanged.
 */
int sqlite_copy(const char *from, const char *to, store_file_fn fn, void *ctx, struct err *err);

/* Is there an interrupted copy in this directory? Returns 0 or -EUCLEAN with the reason. */
int sqlite_copy_check(const char *dir, struct err *err);
