/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Maintenance of the directory of a store, which need not be open. store/sqlite/sqlite_files.h,
 * sqlite_copy.h and sqlite_owner.h describe the functions; store_directory_usage() is in
 * store_open.h.
 */
#include <sys/types.h>

#include "store/files.h"

struct err;

int store_directory_check(const char *dir, store_file_fn fn, void *ctx, struct err *err);
int store_directory_copy(const char *from, const char *to, store_file_fn fn, void *ctx,
			 struct err *err);
int store_directory_compact(const char *dir, store_file_fn fn, void *ctx, struct err *err);
int store_directory_delete(const char *dir, const struct store_deletion *del, store_file_fn fn,
			   void *ctx, struct err *err);
int store_directory_give(const char *dir, uid_t uid, gid_t gid, struct err *err);
