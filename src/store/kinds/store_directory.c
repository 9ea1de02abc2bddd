/* SPDX-License-Identifier: Apache-2.0 */
#include "store/kinds/store_directory.h"

#include "store/sqlite/sqlite_files.h"

int store_directory_check(const char *dir, store_file_fn fn, void *ctx, struct err *err)
{
	return sqlite_files_check(dir, fn, ctx, err);
}
