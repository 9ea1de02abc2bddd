/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One writer and several readers have a file open. Its write-ahead log is flushed at every commit
 * (synchronous=FULL). The application id marks a file as Cameo's.
 *
 * Pages of 2 KiB hold several heads or one small block, and larger ones cost every commit more
 * (page_sums.h); the cache of 4 MiB per connection is what bounds memory, since a query by day
 * opens one connection. FULL rather than NORMAL is needed
 * because with a write-ahead log NORMAL may lose acknowledged commits at a power failure.
 */
#include "store/sqlite/db.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "store/sqlite/durable.h"
#include "store/sqlite/page_sums.h"

enum {
	BUSY_MS = 5000,
	APPLICATION_ID = 0x43614d65,
	CHECKSUM_LEN = 8,
};

/* A large transaction extends the log beyond the length at which SQLite begins it again. */
#define LOG_LIMIT "PRAGMA journal_size_limit=4194304"

/*
 * Debian builds SQLite such that it overwrites each page that it frees, which doubles what a push
 * writes: all arrivals and all rows of packed windows are deleted. Deletions that a user requests
 * build a new file instead (day_rewrite.h).
 */
#define FREED_PAGES "; PRAGMA secure_delete=FAST"

#define PAGE_SIZE "PRAGMA page_size=2048"

_Static_assert(PAGE_SUMS_PAGE_LEN == 2048, "same number as in the statement");

#define ARRIVALS                                                                                   \
	"CREATE TABLE IF NOT EXISTS arrivals(id INTEGER PRIMARY KEY, windows INTEGER, data BLOB);"

/* The windows of a series in the two hours from start on; gaps has how many numbers are unused. */
#define PACKS                                                                                      \
	"CREATE TABLE IF NOT EXISTS packs(id INTEGER PRIMARY KEY, series INTEGER, start INTEGER,"  \
	" first INTEGER, last INTEGER, block INTEGER, windows INTEGER, heads BLOB,"                \
	" UNIQUE(series, start));"                                                                 \
	"CREATE TABLE IF NOT EXISTS packed(id INTEGER PRIMARY KEY, data BLOB);"                    \
	"CREATE TABLE IF NOT EXISTS gaps(n INTEGER);"

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
	"CREATE TABLE identity(id BLOB);"
	"INSERT INTO identity VALUES(randomblob(16));"
	"PRAGMA application_id=1130450277;" ARRIVALS PACKS "PRAGMA user_version=6;"
	"COMMIT;";

_Static_assert(APPLICATION_ID == 1130450277 && DB_FORMAT == 6 && DB_IDENTITY_LEN == 16,
	       "same numbers as in the schema");

void db_close(struct sqlite3 *db)
{
	sqlite3_close_v2(db);
}

size_t db_cache_bytes(struct sqlite3 *db)
{
	int bytes = 0, most;

	sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_USED, &bytes, &most, 0);
	return bytes > 0 ? (size_t)bytes : 0;
}

/* Nobody waits: the thread that appends calls it. */
int db_empty_log(struct sqlite3 *db, struct err *err)
{
	int rc;

	sqlite3_busy_timeout(db, 0);
	rc = sqlite3_wal_checkpoint_v2(db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	sqlite3_busy_timeout(db, BUSY_MS);
	if ((rc & 0xff) == SQLITE_BUSY)
		return 0;
	return rc == SQLITE_OK ? 1 : db_error(db, rc, err);
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
		if (rc == SQLITE_IOERR_DATA)
			return err_set(err, -EBADMSG, "the checksum of a page is wrong");
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
	"CREATE TABLE IF NOT EXISTS owners(block INTEGER PRIMARY KEY, data BLOB);"
	"CREATE TABLE IF NOT EXISTS traced(block INTEGER, id BLOB, data BLOB,"
	" PRIMARY KEY(block, id)) WITHOUT ROWID";

/*
 * Older versions would not see arrivals and packs, nor recognize profiles by their keys
 * (window_profile_time_key()), so they must refuse the file. Files without checksums of pages are
 * converted instead (day_rewrite.h).
 */
static const char upgrade[] = "BEGIN IMMEDIATE;" ARRIVALS PACKS "PRAGMA user_version=6;"
			      "COMMIT";

static int add_tables(struct sqlite3 *db, struct err *err)
{
	int format = 0, r = db_exec(db, later_schema, err);

	if (r == 0)
		r = db_format(db, &format, err);
	if (r < 0 || format < DB_FORMAT_PAGE_SUMS || format == DB_FORMAT)
		return r;
	r = db_exec(db, upgrade, err);
	if (r < 0 && !sqlite3_get_autocommit(db))
		db_exec(db, "ROLLBACK", NULL);
	return r;
}

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
	int64_t id = 0, format = 0, tables = 0;
	int r = db_number(db, "PRAGMA application_id", &id, err);

	if (r == 0)
		r = db_number(db, "PRAGMA user_version", &format, err);
	if (r == 0)
		r = db_number(db, "SELECT count(*) FROM sqlite_schema", &tables, err);
	if (r < 0)
		return r;
	if (id == APPLICATION_ID && format >= 1 && format <= DB_FORMAT)
		return format < DB_FORMAT_PAGE_SUMS || page_sums_enabled(db)
			       ? 0
			       : err_set(err, -EBADMSG, "its pages have no checksums");
	if (id == APPLICATION_ID)
		return err_set(err, -EBADMSG,
			       "written by a newer version of Cameo (format %lld, this version "
			       "reads up to %d)",
			       (long long)format, DB_FORMAT);
	if (id == 0 && tables == 0)
		return mode == DB_WRITE ? db_exec(db, schema, err) : -ENODATA;
	return err_set(err, -EBADMSG, "not a database of Cameo");
}

/* True if there is a write-ahead log with content next to the file. */
static bool has_log(const char *path)
{
	char log[4200];
	struct stat st;

	snprintf(log, sizeof(log), "%s-wal", path);
	return stat(log, &st) == 0 && st.st_size > 0;
}

/* The number of pages in the header is that of the file only without a log. */
int db_check_whole(struct sqlite3 *db, const char *path, struct err *err)
{
	int64_t pages = 0, page_len = 0;
	struct stat st;
	int r;

	if (has_log(path))
		return 0;
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

int db_format(struct sqlite3 *db, int *out, struct err *err)
{
	int64_t format = 0;
	int r = db_number(db, "PRAGMA user_version", &format, err);

	*out = (int)format;
	return r;
}

int db_identity(struct sqlite3 *db, struct db_identity *out, struct err *err)
{
	struct sqlite3_stmt *stmt = NULL;
	int format = 0, r = db_format(db, &format, err);

	*out = (struct db_identity){ 0 };
	if (r < 0 || format < DB_FORMAT_CHECKED)
		return r;
	r = db_prepare(db, "SELECT id FROM identity", &stmt, err);
	if (r == 0)
		r = db_step(db, stmt, err);
	if (r > 0 && sqlite3_column_bytes(stmt, 0) == DB_IDENTITY_LEN)
		memcpy(out->bytes, sqlite3_column_blob(stmt, 0), DB_IDENTITY_LEN);
	else if (r >= 0)
		r = err_set(err, -EBADMSG, "its identity is damaged");
	db_finalize(stmt);
	return r < 0 ? r : 0;
}

/* Columns: windows in the tables, greatest number of one without the unused ones, arrivals. */
static const char count_old[] = "SELECT count(*), (SELECT max(id) FROM blocks), 0 FROM windows";
static const char count_with_arrivals[] = "SELECT count(*), (SELECT max(id) FROM blocks),"
					  " (SELECT sum(windows) FROM arrivals) FROM windows";
static const char count_with_packs[] =
	"SELECT count(*) + (SELECT coalesce(sum(windows), 0) FROM packs),"
	" max(coalesce((SELECT max(id) FROM blocks), 0),"
	" coalesce((SELECT max(block) FROM packs), 0)) - coalesce((SELECT n FROM gaps), 0),"
	" (SELECT sum(windows) FROM arrivals) FROM windows";

/*
 * Numbers of blocks begin with 1 and are never reused, so the last one is the number of windows but
 * for those that were deleted. The numbers are of one state of the file, which may be written to
 * meanwhile.
 */
int db_count_windows(struct sqlite3 *db, uint64_t *out, struct err *err)
{
	struct sqlite3_stmt *stmt = NULL;
	int64_t n = 0, last = 0, arrived = 0;
	int format = 0, r = db_format(db, &format, err);

	if (r == 0)
		r = db_prepare(db,
			       format >= DB_FORMAT_PACKS      ? count_with_packs
			       : format >= DB_FORMAT_ARRIVALS ? count_with_arrivals
							      : count_old,
			       &stmt, err);
	if (r == 0)
		r = db_step(db, stmt, err);
	if (r > 0) {
		n = sqlite3_column_int64(stmt, 0);
		last = sqlite3_column_int64(stmt, 1);
		arrived = sqlite3_column_int64(stmt, 2);
	}
	db_finalize(stmt);
	if (r > 0 && n != last)
		return err_set(err, -EBADMSG, "it has %lld of %lld windows", (long long)n,
			       (long long)last);
	*out = (uint64_t)(n + arrived);
	return r < 0 ? r : 0;
}

/* XXH3's value is stable since version 0.8.0, so it may be stored. */
static void put_checksum(const void *data, size_t len, uint8_t out[CHECKSUM_LEN])
{
	XXH64_canonical_t canonical;

	XXH64_canonicalFromHash(&canonical, XXH3_64bits(data, len));
	memcpy(out, canonical.digest, CHECKSUM_LEN);
}

static int check_blob(const uint8_t *data, size_t len, bool checked, const void **out_data,
		      size_t *out_len)
{
	uint8_t sum[CHECKSUM_LEN];

	*out_data = data;
	*out_len = len;
	if (!checked || !len)
		return 0;
	if (len < CHECKSUM_LEN)
		return -EBADMSG;
	*out_len = len - CHECKSUM_LEN;
	put_checksum(data, *out_len, sum);
	return memcmp(sum, data + *out_len, CHECKSUM_LEN) ? -EBADMSG : 0;
}

int db_blob(struct sqlite3_stmt *stmt, int column, bool checked, const void **out_data,
	    size_t *out_len)
{
	const uint8_t *data = sqlite3_column_blob(stmt, column);

	return check_blob(data, (size_t)sqlite3_column_bytes(stmt, column), checked, out_data,
			  out_len);
}

int db_value(struct sqlite3_value *value, bool checked, const void **out_data, size_t *out_len)
{
	const uint8_t *data = sqlite3_value_blob(value);

	return check_blob(data, (size_t)sqlite3_value_bytes(value), checked, out_data, out_len);
}

void db_seal(struct buf *blob, bool checked)
{
	uint8_t sum[CHECKSUM_LEN];

	if (!checked || buf_error(blob))
		return;
	put_checksum(blob->data, blob->len, sum);
	buf_put(blob, sum, CHECKSUM_LEN);
}

/* An empty file gets room for checksums in its pages. The size of other pages stays. */
static int reserve(struct sqlite3 *db, struct err *err)
{
	int r, rc;

	if (!page_sums_enabled(db))
		return 0;
	r = db_exec(db, PAGE_SIZE, err);
	rc = r < 0 ? SQLITE_OK : page_sums_reserve(db);
	return rc == SQLITE_OK ? r : db_error(db, rc, err);
}

static int own(const char *path, struct err *err)
{
	int r = durable_own(path);

	return r < 0 ? err_set(err, r, "cannot change its owner: %s", strerror(-r)) : 0;
}

/*
 * Opens the file with one of the file systems. A reader never moves the log into the file,
 * neither when it opens nor when it closes it.
 */
static int open_with(struct sqlite3 **out, const char *path, enum db_mode mode, const char *vfs,
		     struct err *err)
{
	_cleanup_(db_closep) struct sqlite3 *db = NULL;
	int flags =
		SQLITE_OPEN_NOMUTEX | (mode == DB_WRITE ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
							: SQLITE_OPEN_READONLY);
	int rc = vfs ? sqlite3_open_v2(path, &db, flags, vfs) : SQLITE_NOMEM;
	int r;

	if (rc != SQLITE_OK)
		return db_error(db, rc, err);
	sqlite3_extended_result_codes(db, 1);
	sqlite3_busy_timeout(db, BUSY_MS);
	r = mode == DB_WRITE ? own(path, err) : 0; /* before it has a log, which gets its owner */
	if (r == 0)
		r = db_exec(db,
			    "PRAGMA cache_size=-4096; PRAGMA trusted_schema=OFF; "
			    "PRAGMA cell_size_check=ON",
			    err);
	if (r == 0 && mode == DB_WRITE)
		r = reserve(db, err);
	if (r == 0 && mode == DB_WRITE)
		r = db_exec(
			db,
			"PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;" LOG_LIMIT FREED_PAGES,
			err);
	if (r == 0)
		r = check_owner(db, mode, err);
	if (r == 0)
		*out = steal_ptr(&db);
	return r;
}

/*
 * The log and its index are files too, which cannot be created on a full or read-only file system.
 * With the file system unix-excl SQLite holds the index in memory of the process instead. A missing
 * log is reported like a missing file; without one the file is complete and can be read without
 * locks.
 */
static int open_to_read(struct sqlite3 **out, const char *path, struct err *err)
{
	struct err first = { 0 };
	int r = open_with(out, path, DB_READ, page_sums_vfs(false), &first);
	bool no_log = r == -ENOENT && access(path, F_OK) == 0;

	if (r == 0 || r == -ENODATA || r == -EBADMSG || r == -ENOMEM || (r == -ENOENT && !no_log))
		return r < 0 ? err_set(err, r, "%s", first.msg) : 0;
	if (open_with(out, path, DB_READ, page_sums_vfs(true), NULL) == 0)
		return 0;
	if (!has_log(path) && open_with(out, path, DB_READ, page_sums_vfs_fixed(), NULL) == 0)
		return 0;
	return err_set(err, no_log ? -EIO : r, "%s", first.msg);
}

/* Without a log the file is complete by itself. */
static int open_replica(struct sqlite3 **out, const char *path, struct err *err)
{
	struct err why = { 0 };
	int r = open_with(out, path, DB_REPLICA,
			  has_log(path) ? page_sums_vfs_replica() : page_sums_vfs_fixed(), &why);

	if (r == -ENOENT && access(path, F_OK) == 0)
		r = -EIO;
	return r < 0 ? err_set(err, r, "%s", why.msg) : 0;
}

int db_add_missing(struct sqlite3 *db, struct err *err)
{
	static const struct {
		const char *find, *add;
	} tables[] = {
		{ "SELECT count(*) FROM main.sqlite_schema WHERE name='sums'",
		  "CREATE TEMP TABLE sums(series, level, start, head, data)" },
		{ "SELECT count(*) FROM main.sqlite_schema WHERE name='owners'",
		  "CREATE TEMP TABLE owners(block, data)" },
		{ "SELECT count(*) FROM main.sqlite_schema WHERE name='traced'",
		  "CREATE TEMP TABLE traced(block, id, data)" },
	};
	int r = db_exec(db, "PRAGMA temp_store=MEMORY", err);

	for (size_t i = 0; r == 0 && i < sizeof(tables) / sizeof(tables[0]); i++) {
		int64_t n = 0;

		r = db_number(db, tables[i].find, &n, err);
		if (r == 0 && !n)
			r = db_exec(db, tables[i].add, err);
	}
	return r;
}

/*
 * The process that created the file may have been killed before its name was durable. Nothing that
 * is written to the file may be acknowledged before.
 */
static int sync_names(const char *path, struct err *err)
{
	int r = durable_sync_parent(path);

	return r < 0 ? err_set(err, r, "cannot flush its directory: %s", strerror(-r)) : 0;
}

int db_open(struct sqlite3 **out, const char *path, enum db_mode mode, struct err *err)
{
	_cleanup_(db_closep) struct sqlite3 *db = NULL;
	int r;

	if (mode != DB_WRITE)
		return mode == DB_READ ? open_to_read(out, path, err)
				       : open_replica(out, path, err);
	r = open_with(&db, path, DB_WRITE, page_sums_vfs(false), err);
	if (r == 0)
		r = db_exec(db, "PRAGMA wal_checkpoint(PASSIVE)", err);
	if (r == 0)
		r = db_check_whole(db, path, err);
	if (r == 0)
		r = add_tables(db, err);
	if (r == 0)
		r = sync_names(path, err);
	if (r == 0)
		*out = steal_ptr(&db);
	return r;
}

int db_open_copy(struct sqlite3 **out, const char *path, struct sqlite3 *of, struct err *err)
{
	_cleanup_(db_closep) struct sqlite3 *db = NULL;
	const char *vfs = page_sums_enabled(of) ? page_sums_vfs(false) : "unix";
	int rc = vfs ? sqlite3_open_v2(path, &db,
				       SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE |
					       SQLITE_OPEN_CREATE | SQLITE_OPEN_EXCLUSIVE,
				       vfs)
		     : SQLITE_NOMEM;
	int r;

	if (rc != SQLITE_OK)
		return db_error(db, rc, err);
	sqlite3_extended_result_codes(db, 1);
	r = own(path, err);
	if (r == 0)
		r = db_exec(db, PAGE_SIZE, err);
	if (r == 0)
		*out = steal_ptr(&db);
	return r;
}
