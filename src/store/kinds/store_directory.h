/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Maintenance of the directory of a store, which need not be open. store/sqlite/sqlite_files.h
 * and sqlite_copy.h describe the functions; store_directory_usage() is in store_open.h.
 */
#include "store/files.h"

struct err;

int store_directory_check(const char *dir, store_file_fn fn, void *ctx, struct err *err);
int store_directory_copy(const char *from, const char *to, store_file_fn fn, void *ctx,
			 struct err *err);
int store_directory_compact(const char *dir, store_file_fn fn, void *ctx, struct err *err);
int store_directory_delete(const char *dir, const struct store_deletion *del, store_file_fn fn,
			   void *ctx, struct err *err);
