/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/day_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "base/err.h"
#include "fixture.h"
#include "store/sqlite/day_files.h"
#include "store/store.h"
#include "tests/test.h"

enum { NUMBER = 20778 };

/* A day with windows of two series, profiles with ids, and precomputed sums. */
static char *make_day(char *path)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);

	for (int i = 0; i < 6; i++)
		assert_int_equal(fixture_append(s, i % 2 ? "shop" : "mail", "1",
						NOON + i * 1000000000LL, i < 3 ? "id" : NULL,
						"main;work 3\nmain;wait 2\n"),
				 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(store_roll_up(s, NOON + DAY / 4, NULL), 0);
	store_close(s);
	day_files_path(dir, "anonymous", NUMBER, path);
	return dir;
}

static void run_sql(const char *path, const char *sql)
{
	struct sqlite3 *db = fixture_database(path);
	char *why = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
	sqlite3_close(db);
}

static void a_whole_file_is_described(void **state)
{
	char path[DAY_FILES_PATH_LEN], *dir = make_day(path);
	static const struct db_identity none;
	struct day_check have;
	int64_t sums = 0;
	struct sqlite3 *db = NULL;

	assert_int_equal(day_check(path, NUMBER, &have, NULL), 0);
	assert_int_equal(have.n_windows, 6);
	assert_int_equal(have.format, DB_FORMAT);
	assert_memory_not_equal(&have.identity, &none, sizeof(none));
	assert_int_equal(db_open(&db, path, DB_READ, NULL), 0);
	assert_int_equal(db_number(db, "SELECT count(*) FROM sums", &sums, NULL), 0);
	assert_true(sums > 0);
	db_close(db);
	assert_int_equal(day_check(path, NUMBER + 1, &have, NULL), -EBADMSG);
	fixture_remove(dir);
	assert_int_equal(day_check("/nonexistent/2026-11-20.db", NUMBER, &have, NULL), -ENOENT);
}

/* Each change leaves a file that SQLite itself accepts. */
static void every_kind_of_damage_is_found(void **state)
{
	static const struct {
		const char *sql, *part;
	} cases[] = {
		{ "UPDATE blocks SET data=zeroblob(length(data)) WHERE id=2", "a window" },
		{ "UPDATE windows SET head=x'00' WHERE block=3", "a window" },
		{ "UPDATE windows SET head=(SELECT head FROM sums LIMIT 1) WHERE block=3",
		  "a window" },
		{ "UPDATE blocks SET data=x'' WHERE id=2", "a window" },
		{ "UPDATE windows SET series=99 WHERE block=1", "a window" },
		{ "UPDATE windows SET time=time+86400000000000 WHERE block=1", "a window" },
		{ "UPDATE windows SET block=77 WHERE block=1", "has no block" },
		{ "DELETE FROM windows WHERE block=2", "of 6 windows" },
		{ "DELETE FROM blocks WHERE id=2", "has no block" },
		{ "INSERT INTO ids VALUES(1, 78)", "profile's id" },
		{ "UPDATE profiles SET key=x'01' WHERE key=(SELECT max(key) FROM profiles)",
		  "key of a profile" },
		{ "INSERT INTO times VALUES(79, x'')", "sample times" },
		{ "INSERT INTO times VALUES(1, x'010203')", "sample times" },
		{ "INSERT INTO owners VALUES(1, x'')", "threads of samples" },
		{ "UPDATE sums SET data=zeroblob(30)", "precomputed sum" },
		{ "UPDATE sums SET series=series+98", "precomputed sum" },
		{ "DELETE FROM chunks WHERE kind=2", "a window" },
		{ "UPDATE chunks SET first=first+1 WHERE kind=0", "dictionary" },
		{ "UPDATE chunks SET data=zeroblob(9) WHERE kind=1", "dictionary" },
		{ "UPDATE identity SET id=x'00'", "identity" },
		{ "PRAGMA user_version=99", "newer version" },
		{ "PRAGMA application_id=7", "not a database of Cameo" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char path[DAY_FILES_PATH_LEN], *dir = make_day(path);
		struct day_check have;
		struct err err = { 0 };
		int r;

		run_sql(path, cases[i].sql);
		r = day_check(path, NUMBER, &have, &err);
		if (r != -EBADMSG || !strstr(err.msg, cases[i].part))
			fail_msg("%s: %d, %s", cases[i].sql, r, err.msg);
		fixture_remove(dir);
	}
}

TEST_GROUP(test_day_check, TEST(a_whole_file_is_described), TEST(every_kind_of_damage_is_found))
