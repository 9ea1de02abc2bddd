/* SPDX-License-Identifier: Apache-2.0 */
#include "old_format.h"

#include <libgen.h>
#include <stdio.h>
#include <unistd.h>

#include <sqlite3.h>

#include "fixture.h"
#include "store/sqlite/page_sums.h"
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

/* Format 3 differs in the table of what arrived last. */
static void make_without_arrivals(const char *path)
{
	struct sqlite3 *db = fixture_database(path);

	assert_int_equal(
		sqlite3_exec(db, "DROP TABLE arrivals; PRAGMA user_version=3", NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
}

void old_format_make(const char *path, int format)
{
	char old[4200], attach[4300], dir[4200], manifest[4300];
	struct sqlite3 *db = NULL;
	char *why = NULL;

	make_without_arrivals(path);
	if (format == 3)
		return;
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
