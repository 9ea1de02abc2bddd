/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The messages of READER_TABLE, which makes the unwind table of an ELF file: descriptor 0 of the
 * request. If the file has no unwind information, the reader questions the parent for one debug
 * file after another (READER_NEED_DEBUG), until it finds the right one or the result is not 0 or
 * -ENOENT. The table (unwind/flat_table.h) is a sealed memory file: descriptor 0 of the reply.
 *
 * Pure functions. Checks do not trust the bytes.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { READER_NEED_DEBUG = 1, TABLE_LINK_MAX = 256 };

struct table_request {
	uint32_t sweep_all; /* also analyse code without unwind information */
	uint32_t reserved;
};

struct table_need {
	uint32_t attempt;          /* number of the candidate, from 0 */
	char link[TABLE_LINK_MAX]; /* file name in .gnu_debuglink; "" if there is none */
};

/* Returns the checked question, or NULL: the link ends, and is a file name without directory. */
const struct table_need *table_need_check(const void *data, size_t len);
