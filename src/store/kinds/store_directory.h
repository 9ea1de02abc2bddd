/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Maintenance of the directory of a store, which need not be open. store/sqlite/sqlite_files.h
 * describes the functions; store_directory_usage() is in store_open.h.
 */
#include "store/files.h"

struct err;

int store_directory_check(const char *dir, store_file_fn fn, void *ctx, struct err *err);
