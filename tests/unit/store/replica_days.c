/* SPDX-License-Identifier: Apache-2.0 */
/* tests/server/replica.py has more: permissions, logs, files that change. */
#include "store/sqlite/replica_days.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "base/err.h"
#include "fixture.h"
#include "old_format.h"
#include "profile/profile.h"
#include "store/kinds/store_open.h"
#include "store/sqlite/day_files.h"
#include "store/sqlite/db.h"
#include "tests/test.h"

enum { N = 40 };

static char *make_store(char *path)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);

	for (int i = 0; i < N; i++)
		assert_int_equal(fixture_append(s, i % 2 ? "shop" : "mail", "1",
						NOON + i * 60000000000LL, NULL,
						"main;serve 2\nmain;parse 1\n"),
				 0);
	assert_int_equal(store_roll_up(s, NOON + DAY, NULL), 0);
	assert_int_equal(store_roll_up(s, NOON + DAY, NULL), 0);
	store_close(s);
	day_files_path(dir, "anonymous", NOON / DAY, path);
	return dir;
}

static struct store *open_replica(const char *dir)
{
	const struct store_options opt = { .dir = dir, .read_only = true };
	struct store *s = NULL;
	struct err err = { 0 };

	if (store_open(&s, &opt, &err) < 0)
		fail_msg("%s", err.msg);
	return s;
}

/* Older versions lack tables, checksums and identities; no conversion may make up for that here. */
static void files_of_all_formats_are_read_unchanged(void **state)
{
	for (int format = 1; format <= DB_FORMAT; format++) {
		char path[DAY_FILES_PATH_LEN], *dir = make_store(path);
		uint64_t stamp;
		struct store *s;

		if (format < DB_FORMAT)
			old_format_make(path, format);
		stamp = day_files_stamp_day(path, NULL);
		s = open_replica(dir);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(fixture_total(s, NULL, NOON - 1, NOON + DAY),
					 N * 30000000LL);
			assert_int_equal(fixture_total(s, "shop", NOON, NOON + 60000000000LL),
					 30000000);
		}
		store_close(s);
		assert_int_equal(day_files_stamp_day(path, NULL), stamp);
		fixture_remove(dir);
	}
}

static void nothing_is_stored_or_deleted(void **state)
{
	char path[DAY_FILES_PATH_LEN], *dir = make_store(path);
	uint64_t stamp = day_files_stamp_day(path, NULL);
	struct store *s = open_replica(dir);
	int64_t day;

	assert_int_equal(fixture_append(s, "shop", "1", NOON, NULL, "main 1\n"), -ENOSYS);
	assert_int_equal(store_roll_up(s, NOON + DAY, NULL), 0);
	assert_int_equal(store_first_day(s, &day, NULL), 0);
	assert_int_equal(store_retain(s, NOON + 9 * DAY, 1, NOON + 9 * DAY, NULL), 0);
	assert_int_equal(store_check(s, NULL), 0);
	store_shrink(s);
	assert_int_equal(fixture_total(s, NULL, NOON - 1, NOON + DAY), N * 30000000LL);
	store_close(s);
	assert_int_equal(day_files_stamp_day(path, NULL), stamp);
	fixture_remove(dir);
}

/* Whatever SQLite attempts, the file system below it refuses. */
static void a_connection_to_a_replica_cannot_write(void **state)
{
	char path[DAY_FILES_PATH_LEN], *dir = make_store(path);
	uint64_t stamp = day_files_stamp_day(path, NULL);
	struct sqlite3 *db = NULL;

	assert_int_equal(db_open(&db, path, DB_REPLICA, NULL), 0);
	assert_true(db_exec(db, "DELETE FROM windows", NULL) < 0);
	assert_true(db_exec(db, "PRAGMA journal_mode=DELETE; VACUUM", NULL) < 0);
	db_close(db);
	assert_int_equal(day_files_stamp_day(path, NULL), stamp);
	fixture_remove(dir);
}

TEST_GROUP(test_replica_days, TEST(files_of_all_formats_are_read_unchanged),
	   TEST(nothing_is_stored_or_deleted), TEST(a_connection_to_a_replica_cannot_write))
