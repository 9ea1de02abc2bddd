/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One writer and several readers have a file open. Its write-ahead log is flushed at every commit
 * (synchronous=FULL). The application id marks a file as Cameo's. A truncated file is recognized
 * once the log has been moved into it: it must then have all of its pages.
 *
 * Pages of 8 KiB hold several heads or one small block; the cache of 4 MiB per connection is what
 * bounds memory, since a query by day opens one connection. FULL rather than NORMAL is needed
 * because with a write-ahead log NORMAL may lose acknowledged commits at a power failure.
 */
#include "store/sqlite/db.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "base/err.h"

enum {
	APPLICATION_ID = 0x43614d65,
	VERSION = 1,
};

static const char schema[] =
	"BEGIN IMMEDIATE;"
	"CREATE TABLE IF NOT EXISTS chunks(kind INTEGER, first INTEGER, data BLOB,"
	" PRIMARY KEY(kind, first)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS windows(series INTEGER, time INTEGER, block INTEGER, head BLOB,"
	" PRIMARY KEY(series, time, block)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS blocks(id INTEGER PRIMARY KEY, data BLOB);"
	"CREATE TABLE IF NOT EXISTS ids(id INTEGER, block INTEGER, PRIMARY KEY(id, block))"
	" WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS times(block INTEGER PRIMARY KEY, data BLOB);"
	"CREATE TABLE IF NOT EXISTS profiles(key BLOB PRIMARY KEY) WITHOUT ROWID;"
	"PRAGMA application_id=1130450277;"
	"PRAGMA user_version=1;"
	"COMMIT;";

_Static_assert(APPLICATION_ID == 1130450277, "same number as in the schema");

void db_close(struct sqlite3 *db)
{
	sqlite3_close_v2(db);
}

void db_finalize(struct sqlite3_stmt *stmt)
{
	sqlite3_finalize(stmt);
}

int db_error(struct sqlite3 *db, int rc, struct err *err)
{
	const char *why = db ? sqlite3_errmsg(db) : sqlite3_errstr(rc);

	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return err_set(err, -ENOSPC, "disk is full: %s", why);
	case SQLITE_IOERR:
		if (rc == SQLITE_IOERR_NOMEM)
			return -ENOMEM;
		if (db && sqlite3_system_errno(db) == ENOSPC)
			return err_set(err, -ENOSPC, "disk is full");
		return err_set(err, rc == SQLITE_IOERR_WRITE ? -ENOSPC : -EIO, "%s", why);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return err_set(err, -EBADMSG, "%s", why);
	case SQLITE_CANTOPEN:
		if (db && sqlite3_system_errno(db) == ENOENT)
			return err_set(err, -ENOENT, "%s", why);
		return err_set(err, -EIO, "%s: %s", why,
			       db ? strerror(sqlite3_system_errno(db)) : "no memory");
	case SQLITE_BUSY:
		return err_set(err, -EBUSY, "%s", why);
	case SQLITE_READONLY:
		return err_set(err, -EROFS, "%s", why);
	default:
		return err_set(err, -EIO, "%s", why);
	}
}

int db_exec(struct sqlite3 *db, const char *sql, struct err *err)
{
	int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : db_error(db, rc, err);
}

int db_prepare(struct sqlite3 *db, const char *sql, struct sqlite3_stmt **out, struct err *err)
{
	int rc = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);

	return rc == SQLITE_OK ? 0 : db_error(db, rc, err);
}

int db_step(struct sqlite3 *db, struct sqlite3_stmt *stmt, struct err *err)
{
	int rc = sqlite3_step(stmt);
	int r;

	if (rc == SQLITE_ROW)
		return 1;
	r = rc == SQLITE_DONE ? 0 : db_error(db, rc, err);
	sqlite3_reset(stmt);
	return r;
}

/*
 * Tables that files of older versions lack. Rollups are derived data and can be rebuilt at any
 * time.
 */
static const char later_schema[] =
	"CREATE TABLE IF NOT EXISTS sums(series INTEGER, level INTEGER, start INTEGER, head BLOB,"
	" data BLOB, PRIMARY KEY(series, level, start));"
	"CREATE TABLE IF NOT EXISTS owners(block INTEGER PRIMARY KEY, data BLOB)";

int db_number(struct sqlite3 *db, const char *sql, int64_t *out, struct err *err)
{
	struct sqlite3_stmt *stmt = NULL;
	int r = db_prepare(db, sql, &stmt, err);

	if (r == 0)
		r = db_step(db, stmt, err);
	if (r > 0)
		*out = sqlite3_column_int64(stmt, 0);
	db_finalize(stmt);
	return r < 0 ? r : 0;
}

/*
 * Checks whose file it is. A new one has neither an application id nor tables. A file with tables
 * but without the id belongs to another program and is never written to.
 */
static int check_owner(struct sqlite3 *db, enum db_mode mode, struct err *err)
{
	int64_t id = 0, version = 0, tables = 0;
	int r = db_number(db, "PRAGMA application_id", &id, err);

	if (r == 0)
		r = db_number(db, "PRAGMA user_version", &version, err);
	if (r == 0)
		r = db_number(db, "SELECT count(*) FROM sqlite_schema", &tables, err);
	if (r < 0)
		return r;
	if (id == APPLICATION_ID && version == VERSION)
		return 0;
	if (id == 0 && tables == 0 && mode == DB_WRITE)
		return db_exec(db, schema, err);
	return err_set(err, -EBADMSG, "not a database of this version of Cameo");
}

/*
 * SQLite notices a truncated file only when it reads a missing page, which would be in the middle
 * of a query, maybe weeks later. The number of pages in the header is reliable only after the log
 * has been moved into the file.
 */
static int check_whole(struct sqlite3 *db, const char *path, struct err *err)
{
	int64_t pages = 0, page_len = 0;
	struct stat st;
	int r = db_exec(db, "PRAGMA wal_checkpoint(PASSIVE)", err);

	if (r == 0)
		r = db_number(db, "PRAGMA page_count", &pages, err);
	if (r == 0)
		r = db_number(db, "PRAGMA page_size", &page_len, err);
	if (r < 0)
		return r;
	if (stat(path, &st) < 0)
		return err_set(err, -errno, "cannot stat the file: %s", strerror(errno));
	if (st.st_size < pages * page_len)
		return err_set(err, -EBADMSG, "file is truncated: %lld of %lld bytes",
			       (long long)st.st_size, (long long)(pages * page_len));
	return 0;
}

int db_open(struct sqlite3 **out, const char *path, enum db_mode mode, struct err *err)
{
	_cleanup_(db_closep) struct sqlite3 *db = NULL;
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
	int rc, r;

	rc = sqlite3_open_v2(path, &db, flags | (mode == DB_WRITE ? SQLITE_OPEN_CREATE : 0), NULL);
	if (rc != SQLITE_OK)
		return db_error(db, rc, err);
	sqlite3_extended_result_codes(db, 1);
	sqlite3_busy_timeout(db, 5000);
	r = db_exec(db,
		    "PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
		    "PRAGMA cache_size=-4096; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON",
		    err);
	if (r == 0)
		r = check_owner(db, mode, err);
	if (r == 0 && mode == DB_WRITE)
		r = check_whole(db, path, err);
	if (r == 0 && mode == DB_WRITE)
		r = db_exec(db, later_schema, err);
	if (r < 0)
		return r;
	*out = steal_ptr(&db);
	return 0;
}
