/* SPDX-License-Identifier: Apache-2.0 */
#include "store/kinds/store_directory.h"

#include "store/sqlite/sqlite_copy.h"
#include "store/sqlite/sqlite_files.h"
#include "store/sqlite/sqlite_owner.h"

int store_directory_check(const char *dir, store_file_fn fn, void *ctx, struct err *err)
{
	return sqlite_files_check(dir, fn, ctx, err);
}

int store_directory_copy(const char *from, const char *to, store_file_fn fn, void *ctx,
			 struct err *err)
{
	return sqlite_copy(from, to, fn, ctx, err);
}

int store_directory_compact(const char *dir, store_file_fn fn, void *ctx, struct err *err)
{
	return sqlite_files_compact(dir, fn, ctx, err);
}

int store_directory_delete(const char *dir, const struct store_deletion *del, store_file_fn fn,
			   void *ctx, struct err *err)
{
	return sqlite_files_delete(dir, del, fn, ctx, err);
}

int store_directory_give(const char *dir, uid_t uid, gid_t gid, struct err *err)
{
	return sqlite_owner_give(dir, uid, gid, err);
}
