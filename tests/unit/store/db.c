/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/err.h"
#include "fixture.h"
#include "store/sqlite/page_sums.h"
#include "tests/test.h"

/* A path in a directory of its own. */
struct place {
	char *dir, path[300];
};

static void place_init(struct place *p)
{
	p->dir = fixture_dir();
	snprintf(p->path, sizeof(p->path), "%s/day.db", p->dir);
}

static void place_fini(struct place *p)
{
	fixture_remove(p->dir);
}

static void a_new_file_can_be_read_once_it_exists(void **state)
{
	_cleanup_(place_fini) struct place at;
	struct sqlite3 *db = NULL, *reader = NULL;
	struct err err = { 0 };
	int64_t n = -1;

	place_init(&at);
	assert_int_equal(db_open(&db, at.path, DB_READ, &err), -ENOENT);
	assert_null(db);
	assert_true(err.msg[0]);
	assert_int_equal(db_open(&db, at.path, DB_WRITE, NULL), 0);
	assert_int_equal(db_open(&reader, at.path, DB_READ, NULL), 0);
	assert_int_equal(db_exec(db, "INSERT INTO ids VALUES (7, 1)", NULL), 0);
	assert_int_equal(db_number(reader, "SELECT id FROM ids", &n, NULL), 0);
	assert_int_equal(n, 7);
	/* without a row the number is unchanged */
	assert_int_equal(db_number(reader, "SELECT id FROM ids WHERE id = 8", &n, NULL), 0);
	assert_int_equal(n, 7);
	db_close(reader);
	db_close(db);
}

/* Neither a log nor its index can be created, as on a disk that has no room for another file. */
static void a_file_without_a_log_is_read_as_it_is(void **state)
{
	_cleanup_(place_fini) struct place at;
	struct sqlite3 *db = NULL;
	char log[sizeof(at.path) + 8];
	int64_t n = -1;

	place_init(&at);
	snprintf(log, sizeof(log), "%s-wal", at.path);
	assert_int_equal(db_open(&db, at.path, DB_WRITE, NULL), 0);
	assert_int_equal(db_exec(db, "INSERT INTO ids VALUES (7, 1)", NULL), 0);
	db_close(db);
	assert_int_equal(symlink("/nonexistent/log", log), 0);
	assert_int_equal(db_open(&db, at.path, DB_READ, NULL), 0);
	assert_true(page_sums_is_fixed(db));
	assert_int_equal(db_number(db, "SELECT id FROM ids", &n, NULL), 0);
	assert_int_equal(n, 7);
	assert_true(db_exec(db, "INSERT INTO ids VALUES (8, 1)", NULL) < 0);
	db_close(db);
	unlink(log);
	assert_int_equal(db_open(&db, at.path, DB_READ, NULL), 0);
	assert_false(page_sums_is_fixed(db));
	db_close(db);
}

static void commits_are_flushed_and_foreign_code_does_not_run(void **state)
{
	_cleanup_(place_fini) struct place at;
	struct sqlite3 *db = NULL;
	int64_t n = -1;

	place_init(&at);
	assert_int_equal(db_open(&db, at.path, DB_WRITE, NULL), 0);
	assert_int_equal(db_number(db, "PRAGMA synchronous", &n, NULL), 0);
	assert_int_equal(n, 2); /* FULL */
	assert_int_equal(db_number(db, "PRAGMA trusted_schema", &n, NULL), 0);
	assert_int_equal(n, 0);
	db_close(db);
}

static void statements_report_rows_and_errors(void **state)
{
	_cleanup_(place_fini) struct place at;
	struct sqlite3_stmt *stmt = NULL;
	struct sqlite3 *db = NULL;
	struct err err = { 0 };

	place_init(&at);
	assert_int_equal(db_open(&db, at.path, DB_WRITE, NULL), 0);
	assert_int_equal(db_prepare(db, "SELECT nonsense FROM nowhere", &stmt, &err), -EIO);
	assert_null(stmt);
	assert_non_null(strstr(err.msg, "nowhere"));
	assert_int_equal(db_exec(db, "INSERT INTO ids VALUES (1, 1), (2, 1)", NULL), 0);
	assert_int_equal(db_prepare(db, "SELECT id FROM ids ORDER BY id", &stmt, NULL), 0);
	for (int round = 0; round < 2; round++) { /* it is reset at the end */
		assert_int_equal(db_step(db, stmt, NULL), 1);
		assert_int_equal(sqlite3_column_int(stmt, 0), 1);
		assert_int_equal(db_step(db, stmt, NULL), 1);
		assert_int_equal(db_step(db, stmt, NULL), 0);
	}
	db_finalize(stmt);
	db_close(db);
}

static void write_file(const char *path, const char *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

static void a_file_of_another_program_is_refused_and_unchanged(void **state)
{
	_cleanup_(place_fini) struct place at;
	struct sqlite3 *db = NULL;
	struct err err = { 0 };
	int64_t n = 0;

	place_init(&at);
	assert_int_equal(sqlite3_open(at.path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "CREATE TABLE theirs(x)", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	db = NULL;
	assert_int_equal(db_open(&db, at.path, DB_WRITE, &err), -EBADMSG);
	assert_non_null(strstr(err.msg, "not a database of Cameo"));
	assert_int_equal(sqlite3_open(at.path, &db), SQLITE_OK);
	assert_int_equal(db_number(db, "SELECT count(*) FROM sqlite_schema", &n, NULL), 0);
	assert_int_equal(n, 1);
	/* another version of Cameo */
	assert_int_equal(sqlite3_exec(db, "PRAGMA application_id=1130450277; PRAGMA user_version=7",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	db = NULL;
	err = (struct err){ 0 };
	assert_int_equal(db_open(&db, at.path, DB_WRITE, &err), -EBADMSG);
	assert_non_null(strstr(err.msg, "newer version of Cameo (format 7"));
	assert_int_equal(db_open(&db, at.path, DB_READ, NULL), -EBADMSG);
	write_file(at.path, "this is text, not a database file", 33);
	assert_int_equal(db_open(&db, at.path, DB_WRITE, NULL), -EBADMSG);
}

/* Opening a FIFO would not return, and a device may discard acknowledged data. */
static void only_a_regular_file_is_opened(void **state)
{
	_cleanup_(place_fini) struct place at;
	struct sqlite3 *db = NULL;

	place_init(&at);
	for (int i = 0; i < 3; i++) {
		if (i == 0)
			assert_int_equal(mkfifo(at.path, 0600), 0);
		else if (i == 1)
			assert_int_equal(symlink("/dev/zero", at.path), 0);
		else
			assert_int_equal(mkdir(at.path, 0700), 0);
		assert_true(db_open(&db, at.path, DB_READ, NULL) < 0);
		assert_true(db_open(&db, at.path, DB_WRITE, NULL) < 0);
		assert_null(db);
		assert_int_equal(remove(at.path), 0);
	}
}

static void a_truncated_file_is_noticed_when_it_is_opened(void **state)
{
	_cleanup_(place_fini) struct place at;
	struct sqlite3 *db = NULL;
	struct err err = { 0 };

	place_init(&at);
	assert_int_equal(db_open(&db, at.path, DB_WRITE, NULL), 0);
	assert_int_equal(db_exec(db, "INSERT INTO blocks VALUES (1, zeroblob(200000))", NULL), 0);
	db_close(db);
	db = NULL;
	assert_int_equal(db_open(&db, at.path, DB_WRITE, NULL), 0);
	db_close(db);
	db = NULL;
	assert_int_equal(truncate(at.path, PAGE_SUMS_PAGE_LEN * 9), 0);
	assert_int_equal(db_open(&db, at.path, DB_WRITE, &err), -EBADMSG);
	assert_true(err.msg[0]);
}

/* A file of an older version lacks the tables of rollups and owners. */
static void tables_of_newer_versions_are_added(void **state)
{
	_cleanup_(place_fini) struct place at;
	struct sqlite3 *db = NULL;
	int64_t n = 0;

	place_init(&at);
	assert_int_equal(db_open(&db, at.path, DB_WRITE, NULL), 0);
	assert_int_equal(db_exec(db, "DROP TABLE sums; DROP TABLE owners", NULL), 0);
	db_close(db);
	db = NULL;
	assert_int_equal(db_open(&db, at.path, DB_WRITE, NULL), 0);
	assert_int_equal(db_number(db,
				   "SELECT count(*) FROM sqlite_schema"
				   " WHERE name IN ('sums', 'owners')",
				   &n, NULL),
			 0);
	assert_int_equal(n, 2);
	db_close(db);
}

static void result_codes_become_errno(void **state)
{
	static const struct {
		int rc, r;
	} cases[] = { { SQLITE_NOMEM, -ENOMEM },          { SQLITE_FULL, -ENOSPC },
		      { SQLITE_IOERR_WRITE, -ENOSPC },    { SQLITE_IOERR_READ, -EIO },
		      { SQLITE_CORRUPT_INDEX, -EBADMSG }, { SQLITE_NOTADB, -EBADMSG },
		      { SQLITE_CANTOPEN, -EIO },          { SQLITE_BUSY_SNAPSHOT, -EBUSY },
		      { SQLITE_READONLY, -EROFS },        { SQLITE_ERROR, -EIO } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = { 0 };

		assert_int_equal(db_error(NULL, cases[i].rc, &err), cases[i].r);
		assert_int_equal(err.msg[0] != 0, cases[i].r != -ENOMEM);
	}
}

static int64_t log_len(const struct place *at)
{
	char log[sizeof(at->path) + 8];
	struct stat st;

	snprintf(log, sizeof(log), "%s-wal", at->path);
	return stat(log, &st) == 0 ? (int64_t)st.st_size : -1;
}

/* Arrivals are deleted all the time; SQLite may have been built such that it overwrites them. */
static void deleting_a_table_does_not_write_its_pages(void **state)
{
	_cleanup_(place_fini) struct place at;
	struct sqlite3 *db = NULL;
	int64_t n_free = 0;

	place_init(&at);
	assert_int_equal(db_open(&db, at.path, DB_WRITE, NULL), 0);
	assert_int_equal(db_exec(db,
				 "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
				 " WHERE i < 200) INSERT INTO arrivals SELECT i, 1, zeroblob(1500)"
				 " FROM n",
				 NULL),
			 0);
	assert_int_equal(db_empty_log(db, NULL), 1);
	assert_int_equal(db_exec(db, "DELETE FROM arrivals", NULL), 0);
	assert_int_equal(db_number(db, "PRAGMA freelist_count", &n_free, NULL), 0);
	assert_true(n_free >= 200);
	assert_true(log_len(&at) < 20 * (PAGE_SUMS_PAGE_LEN + 24));
	db_close(db);
}

TEST_GROUP(test_db, TEST(a_new_file_can_be_read_once_it_exists),
	   TEST(a_file_without_a_log_is_read_as_it_is),
	   TEST(commits_are_flushed_and_foreign_code_does_not_run),
	   TEST(statements_report_rows_and_errors),
	   TEST(a_file_of_another_program_is_refused_and_unchanged),
	   TEST(only_a_regular_file_is_opened), TEST(a_truncated_file_is_noticed_when_it_is_opened),
	   TEST(tables_of_newer_versions_are_added),
	   TEST(deleting_a_table_does_not_write_its_pages), TEST(result_codes_become_errno))
