/* SPDX-License-Identifier: Apache-2.0 */
#include "old_format.h"

#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/buf.h"
#include "fixture.h"
#include "profile/profile.h"
#include "store/block.h"
#include "store/sqlite/day_pack.h"
#include "store/sqlite/db.h"
#include "store/sqlite/page_sums.h"
#include "store/window.h"
#include "tests/test.h"

/* The tables of the first version; the content of blobs has not changed since. */
#define TABLES                                                                                     \
	"PRAGMA page_size=8192; PRAGMA journal_mode=WAL;"                                          \
	"BEGIN IMMEDIATE;"                                                                         \
	"CREATE TABLE IF NOT EXISTS chunks(kind INTEGER, first INTEGER, data BLOB,"                \
	" PRIMARY KEY(kind, first)) WITHOUT ROWID;"                                                \
	"CREATE TABLE IF NOT EXISTS windows(series INTEGER, time INTEGER, block INTEGER,"          \
	" head BLOB, PRIMARY KEY(series, time, block)) WITHOUT ROWID;"                             \
	"CREATE TABLE IF NOT EXISTS blocks(id INTEGER PRIMARY KEY, data BLOB);"                    \
	"CREATE TABLE IF NOT EXISTS ids(id INTEGER, block INTEGER, PRIMARY KEY(id, block))"        \
	" WITHOUT ROWID;"                                                                          \
	"CREATE TABLE IF NOT EXISTS times(block INTEGER PRIMARY KEY, data BLOB);"                  \
	"CREATE TABLE IF NOT EXISTS profiles(key BLOB PRIMARY KEY) WITHOUT ROWID;"                 \
	"PRAGMA application_id=1130450277;"

static const char *const schemas[] = {
	[1] = TABLES "PRAGMA user_version=1; COMMIT;",
	[2] = TABLES "CREATE TABLE identity(id BLOB); PRAGMA user_version=2; COMMIT;"
		     "CREATE TABLE IF NOT EXISTS sums(series INTEGER, level INTEGER, start INTEGER,"
		     " head BLOB, data BLOB, PRIMARY KEY(series, level, start));"
		     "CREATE TABLE IF NOT EXISTS owners(block INTEGER PRIMARY KEY, data BLOB)",
};

static const char *const copies[] = {
	/* Eight bytes at the end of a blob are its checksum. */
	[1] = "INSERT INTO chunks SELECT kind, first, substr(data, 1, length(data)-8)"
	      " FROM new.chunks;"
	      "INSERT INTO windows SELECT series, time, block, substr(head, 1, length(head)-8)"
	      " FROM new.windows;"
	      "INSERT INTO blocks SELECT id, substr(data, 1, length(data)-8) FROM new.blocks;"
	      "INSERT INTO ids SELECT * FROM new.ids;"
	      "INSERT INTO times SELECT block, substr(data, 1, length(data)-8) FROM new.times;"
	      "INSERT INTO profiles SELECT * FROM new.profiles;"
	      "DETACH new",
	[2] = "INSERT INTO chunks SELECT * FROM new.chunks;"
	      "INSERT INTO windows SELECT * FROM new.windows;"
	      "INSERT INTO blocks SELECT * FROM new.blocks;"
	      "INSERT INTO ids SELECT * FROM new.ids;"
	      "INSERT INTO times SELECT * FROM new.times;"
	      "INSERT INTO profiles SELECT * FROM new.profiles;"
	      "INSERT INTO sums SELECT * FROM new.sums;"
	      "INSERT INTO owners SELECT * FROM new.owners;"
	      "INSERT INTO identity SELECT * FROM new.identity;"
	      "DETACH new",
};

/* Binds the blob with its checksum and runs the statement, which took the arguments before. */
static void put_blob(struct sqlite3_stmt *stmt, int at, struct buf *blob)
{
	db_seal(blob, true);
	assert_int_equal(sqlite3_bind_blob64(stmt, at, blob->data, blob->len, SQLITE_STATIC), 0);
	assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
	sqlite3_reset(stmt);
	buf_fini(blob);
}

static struct sqlite3_stmt *prepare(struct sqlite3 *db, const char *sql)
{
	struct sqlite3_stmt *stmt = NULL;

	assert_int_equal(db_prepare(db, sql, &stmt, NULL), 0);
	return stmt;
}

static void put_id(struct sqlite3 *db, int64_t id, int64_t block)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "INSERT INTO ids VALUES(%lld, %lld)", (long long)id,
		 (long long)block);
	assert_int_equal(db_exec(db, sql, NULL), 0);
}

/* Up to format 4 ids were in a table of their own. The profiles of the tests have two types. */
static void move_ids(struct sqlite3 *db)
{
	struct sqlite3_stmt *list = prepare(db, "SELECT block, head FROM windows");
	struct sqlite3_stmt *put = prepare(db, "UPDATE windows SET head=?2 WHERE block=?1");
	const void *data;
	int64_t id;
	size_t len;

	while (sqlite3_step(list) == SQLITE_ROW) {
		struct buf head = { 0 };

		assert_int_equal(db_blob(list, 1, true, &data, &len), 0);
		if (window_read_id(data, len, 2, &id) == 0)
			continue;
		put_id(db, id, sqlite3_column_int64(list, 0));
		buf_put(&head, data, len - sizeof(id));
		sqlite3_bind_int64(put, 1, sqlite3_column_int64(list, 0));
		put_blob(put, 2, &head);
	}
	db_finalize(list);
	db_finalize(put);
}

/* Puts a window of a pack into the tables. */
static void unpack_window(struct sqlite3 *db, int64_t series, const struct pack *p, size_t i)
{
	const struct pack_window *w = &p->windows.data[i];
	size_t begin = pack_begin(p, i);
	struct sqlite3_stmt *put_block = prepare(db, "INSERT OR REPLACE INTO blocks VALUES(?, ?)");
	struct sqlite3_stmt *put_window = prepare(db, "INSERT INTO windows VALUES(?, ?, ?, ?)");
	struct profile_meta meta = { .duration_ns = w->duration_ns, .period = w->period };
	struct window_rows rows = { .n_types = p->n_types };
	struct columns_writer c = { 0 };
	struct buf block = { 0 }, head = { 0 };

	memcpy(rows.totals, p->totals.data + i * p->n_types, p->n_types * sizeof(*rows.totals));
	window_put_head(&rows, &meta, &head);
	assert_int_equal(block_write(&c, p->nodes.data + begin, p->values.data + begin * p->n_types,
				     w->end - begin, p->n_types, &block),
			 0);
	sqlite3_bind_int64(put_block, 1, w->block);
	put_blob(put_block, 2, &block);
	sqlite3_bind_int64(put_window, 1, series);
	sqlite3_bind_int64(put_window, 2, w->time_ns);
	sqlite3_bind_int64(put_window, 3, w->block);
	put_blob(put_window, 4, &head);
	if (w->has_id)
		put_id(db, w->id, w->block);
	db_finalize(put_block);
	db_finalize(put_window);
	columns_writer_fini(&c);
}

/* Format 4 had a row for each window. */
static void unpack(struct sqlite3 *db)
{
	struct sqlite3_stmt *list = prepare(db, "SELECT p.series, p.heads, d.data FROM packs p"
						" JOIN packed d ON d.id=p.id");
	struct day_pack_builder b = { 0 };
	struct day_pack_blobs blobs;

	while (sqlite3_step(list) == SQLITE_ROW) {
		assert_int_equal(day_pack_read_blobs(list, 1, &blobs), 0);
		assert_int_equal(day_pack_read(&b, &blobs), 0);
		for (size_t i = 0; i < b.old.windows.len; i++)
			unpack_window(db, sqlite3_column_int64(list, 0), &b.old, i);
	}
	db_finalize(list);
	day_pack_builder_fini(&b);
}

/* Format 3 had no table of what arrived last either. */
static void make_without_packs(const char *path, bool arrivals)
{
	struct sqlite3 *db = fixture_database(path);

	move_ids(db);
	unpack(db);
	assert_int_equal(db_exec(db,
				 "DROP TABLE packs; DROP TABLE packed; DROP TABLE gaps;"
				 "PRAGMA user_version=4",
				 NULL),
			 0);
	if (!arrivals)
		assert_int_equal(db_exec(db, "DROP TABLE arrivals; PRAGMA user_version=3", NULL),
				 0);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Runs each statement that the query makes from the schema of the attached file. */
static void run_each(struct sqlite3 *db, const char *query)
{
	struct sqlite3_stmt *list = prepare(db, query);

	while (sqlite3_step(list) == SQLITE_ROW)
		assert_int_equal(db_exec(db, (const char *)sqlite3_column_text(list, 0), NULL), 0);
	db_finalize(list);
}

/* Up to format 5 pages had 8 KiB, and reserved only the bytes of their checksum. */
static void make_large_pages(const char *path, int format)
{
	char old[4200], sql[4400];
	int reserved = PAGE_SUMS_LEN;
	struct sqlite3 *db = NULL;

	snprintf(old, sizeof(old), "%s.old", path);
	assert_int_equal(sqlite3_open_v2(old, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
					 page_sums_vfs(false)),
			 SQLITE_OK);
	assert_int_equal(db_exec(db, "PRAGMA page_size=8192", NULL), 0);
	assert_int_equal(sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved),
			 SQLITE_OK);
	snprintf(sql, sizeof(sql),
		 "PRAGMA journal_mode=WAL; ATTACH '%s' AS new; PRAGMA application_id=1130450277;"
		 "PRAGMA user_version=%d",
		 path, format);
	assert_int_equal(db_exec(db, sql, NULL), 0);
	run_each(db, "SELECT sql FROM new.sqlite_schema WHERE sql IS NOT NULL");
	run_each(db, "SELECT 'INSERT INTO main.'||name||' SELECT * FROM new.'||name"
		     " FROM new.sqlite_schema WHERE type='table'");
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	assert_int_equal(rename(old, path), 0);
}

void old_format_make(const char *path, int format)
{
	char old[4200], attach[4300], dir[4200], manifest[4300];
	struct sqlite3 *db = NULL;
	char *why = NULL;

	if (format < DB_FORMAT_PACKS)
		make_without_packs(path, format >= DB_FORMAT_ARRIVALS);
	if (format >= DB_FORMAT_PAGE_SUMS) {
		make_large_pages(path, format);
		return;
	}
	snprintf(old, sizeof(old), "file:%s.old?vfs=unix", path);
	snprintf(attach, sizeof(attach), "ATTACH 'file:%s?vfs=%s' AS new", path,
		 page_sums_vfs(false));
	assert_int_equal(
		sqlite3_open_v2(old, &db,
				SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, NULL),
		SQLITE_OK);
	if (sqlite3_exec(db, schemas[format], NULL, NULL, &why) != SQLITE_OK ||
	    sqlite3_exec(db, attach, NULL, NULL, &why) != SQLITE_OK ||
	    sqlite3_exec(db, copies[format], NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s", why);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	snprintf(old, sizeof(old), "%s.old", path);
	assert_int_equal(rename(old, path), 0);
	snprintf(dir, sizeof(dir), "%s", path);
	snprintf(manifest, sizeof(manifest), "%s/manifest", dirname(dir));
	(void)unlink(manifest);
}
