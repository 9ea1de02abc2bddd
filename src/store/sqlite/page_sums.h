/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A file system for SQLite that verifies each page when it is read, so that no byte of a file is
 * used unchecked: neither a key nor a pointer between pages.
 *
 * Pages of a database end in bytes that SQLite leaves alone (the reserved bytes of its file
 * format), of which the last PAGE_SUMS_LEN are a checksum of the page and its number. New files
 * reserve PAGE_SUMS_RESERVED bytes, older ones PAGE_SUMS_LEN. Files without reserved bytes, whose
 * pages have no checksums, are read and written unmodified. Pages in a write-ahead log are verified
 * by the checksums that SQLite stores there (log_sums.h).
 *
 * A page that fails is an error of the statement that reads it, SQLITE_IOERR_DATA. Each file is
 * used by one connection at a time, as SQLite does.
 */
#include <stdbool.h>

struct sqlite3;

enum {
	/*
	 * The length of a page of new files, in bytes. A commit writes each page that it changes
	 * completely; with pages of 8 KiB, which older files have, a push wrote half as much again.
	 */
	PAGE_SUMS_PAGE_LEN = 2048,
	PAGE_SUMS_LEN = 8,
	/* Versions that only know pages of 8 KiB do not verify such pages, and refuse the format.
	 */
	PAGE_SUMS_RESERVED = 16,
};

/*
 * The names of file systems for sqlite3_open_v2(). With @exclusive the index of the log is in
 * memory of the process (SQLite's unix-excl), for files that only this process has open. NULL
 * without memory. Any thread.
 */
const char *page_sums_vfs(bool exclusive);

/*
 * Names a file system for files without a log: they are read without locks, and without creating a
 * log or its index, which a disk without room for new files does not allow. Such a connection
 * does not notice later changes of the file, so it must be used for one query only.
 */
const char *page_sums_vfs_fixed(void);

/*
 * Names a file system for copies with a log, which nobody writes. It changes and creates no file,
 * locks nothing, and holds the index of the log in memory of the connection.
 */
const char *page_sums_vfs_replica(void);
bool page_sums_is_fixed(struct sqlite3 *db);

/*
 * Does the main file of a connection have checksums? An empty file gets them: db_open() reserves
 * the bytes before SQLite writes the first page.
 */
bool page_sums_enabled(struct sqlite3 *db);

/* Reserves the bytes in an empty file that @db has opened. Returns SQLite's result code. */
int page_sums_reserve(struct sqlite3 *db);
