/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The checksums of SQLite's write-ahead log. Each frame has one that continues that of the frame
 * before (file format of SQLite, 4.2). SQLite compares them when it recovers a log, and ends it
 * silently at the first that is wrong, because a loss of power leaves such an end. Here they are
 * compared at each read, and a wrong one in front of later commits is recognized as damage.
 *
 * All functions read with the methods of @log. They return an SQLite result code, SQLITE_IOERR_DATA
 * for damage. Logs are in the byte order of the machine that wrote them; only little-endian ones
 * are recognized. The writer must flush the log at each commit (synchronous=FULL).
 */
#include <stdbool.h>
#include <stdint.h>

struct sqlite3_file;

enum { LOG_SUMS_HEADER_LEN = 32, LOG_SUMS_FRAME_HEADER_LEN = 24 };

/* Is a read of @len bytes at @offset that of the page of a frame, or of a whole frame? */
bool log_sums_is_page(int len, int64_t offset);
bool log_sums_is_frame(int len, int64_t offset);

/* Verifies the page of a committed frame, which was read from @offset. */
int log_sums_verify_page(struct sqlite3_file *log, const uint8_t *page, int len, int64_t offset);

/*
 * Verifies a frame that was read during recovery. A wrong one is damage if transactions that were
 * committed later follow it; otherwise it may be the end of the log, and 0 is returned.
 */
int log_sums_verify_frame(struct sqlite3_file *log, const uint8_t *frame, int len, int64_t offset);

/* Verifies the header in the same way, before the frames with pages of @page_len. */
int log_sums_verify_header(struct sqlite3_file *log, const uint8_t *header, int page_len);
