/* SPDX-License-Identifier: Apache-2.0 */
#include "format_1.h"

#include <libgen.h>
#include <stdio.h>
#include <unistd.h>

#include <sqlite3.h>

#include "tests/test.h"

/* The schema of the first version; the content of blobs has not changed since. */
static const char schema[] =
	"PRAGMA page_size=8192; PRAGMA journal_mode=WAL;"
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

/* Eight bytes at the end of a blob are its checksum. */
static const char copy[] =
	"INSERT INTO chunks SELECT kind, first, substr(data, 1, length(data)-8) FROM new.chunks;"
	"INSERT INTO windows SELECT series, time, block, substr(head, 1, length(head)-8)"
	" FROM new.windows;"
	"INSERT INTO blocks SELECT id, substr(data, 1, length(data)-8) FROM new.blocks;"
	"INSERT INTO ids SELECT * FROM new.ids;"
	"INSERT INTO times SELECT block, substr(data, 1, length(data)-8) FROM new.times;"
	"INSERT INTO profiles SELECT * FROM new.profiles;"
	"DETACH new";

void format_1_make(const char *path)
{
	char old[4200], attach[4300], dir[4200], manifest[4300];
	struct sqlite3 *db = NULL;
	char *why = NULL;

	snprintf(old, sizeof(old), "%s.old", path);
	snprintf(attach, sizeof(attach), "ATTACH '%s' AS new", path);
	assert_int_equal(sqlite3_open(old, &db), SQLITE_OK);
	if (sqlite3_exec(db, schema, NULL, NULL, &why) != SQLITE_OK ||
	    sqlite3_exec(db, attach, NULL, NULL, &why) != SQLITE_OK ||
	    sqlite3_exec(db, copy, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s", why);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	assert_int_equal(rename(old, path), 0);
	snprintf(dir, sizeof(dir), "%s", path);
	snprintf(manifest, sizeof(manifest), "%s/manifest", dirname(dir));
	(void)unlink(manifest);
}
