/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A file table with readers of its own, for tests whose main() calls reader_main(). */
#include "process/file_table.h"
#include "reader/reader.h"
#include "roles/pool.h"
#include "tests/test.h"

enum { READER_BYTES = 64 << 20 };

/* The readers belong to the caller, who frees them after the table. */
static inline void file_table_with_readers(struct file_table **out, struct role_pool **out_readers,
					   struct unwind_tables *tables)
{
	const struct role_pool_opts pool = { .max_children = 2,
					     .max_abandoned = 2,
					     .memory_bytes = READER_BYTES };
	struct file_table_opts opts = { .tables = tables,
					.n_table_readers = 1,
					.table_bytes = READER_BYTES };

	assert_int_equal(role_pool_new(out_readers, &reader_role, &pool, NULL), 0);
	opts.readers = *out_readers;
	assert_int_equal(file_table_new(out, &opts), 0);
}
