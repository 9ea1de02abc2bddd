/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/sqlite_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "fixture.h"
#include "store/sqlite/day_files.h"
#include "store/sqlite/page_sums.h"
#include "store/store.h"
#include "tests/test.h"

enum { DAYS = 3 };

static char *make_store(void)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);

	for (int i = 0; i < DAYS; i++)
		assert_int_equal(fixture_append(s, "shop", "1", NOON + i * DAY, NULL, "main 1\n"),
				 0);
	store_close(s);
	return dir;
}

static int64_t total(const char *dir)
{
	struct store *s = fixture_open(dir);
	int64_t sum = fixture_total(s, NULL, NOON, NOON + DAYS * DAY);

	store_close(s);
	return sum / 10000000;
}

struct seen {
	int n, n_damaged;
	uint64_t n_deleted;
};

static int note(void *ctx, const struct store_file *f)
{
	struct seen *s = ctx;

	s->n++;
	s->n_damaged += f->damage != NULL;
	s->n_deleted += f->n_deleted;
	return 0;
}

static void damage(const char *dir, int day)
{
	char path[DAY_FILES_PATH_LEN];

	day_files_path(dir, "anonymous", NOON / DAY + day, path);
	assert_int_equal(truncate(path, PAGE_SUMS_PAGE_LEN * 3), 0);
}

static void all_files_are_checked_whatever_they_are(void **state)
{
	char *dir = make_store();
	struct seen seen = { 0 };

	assert_int_equal(sqlite_files_check(dir, note, &seen, NULL), 0);
	assert_int_equal(seen.n, DAYS);
	damage(dir, 0);
	assert_int_equal(day_files_unlink(dir, "anonymous", NOON / DAY + 1), 0);
	seen = (struct seen){ 0 };
	assert_int_equal(sqlite_files_check(dir, note, &seen, NULL), -EUCLEAN);
	assert_int_equal(seen.n, DAYS);
	assert_int_equal(seen.n_damaged, 2);
	fixture_remove(dir);
}

static void a_whole_day_is_deleted_even_if_it_is_damaged(void **state)
{
	char *dir = make_store();
	struct store_deletion del = { .tenant = "anonymous",
				      .selector = "{}",
				      .start_ns = NOON - DAY / 2,
				      .end_ns = NOON + DAY / 2 - 1 };
	struct seen seen = { 0 };

	damage(dir, 0);
	assert_int_equal(sqlite_files_delete(dir, &del, note, &seen, NULL), -EUCLEAN);
	del.end_ns++;
	assert_int_equal(sqlite_files_delete(dir, &del, note, &seen, NULL), 0);
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.n_deleted, 1);
	assert_int_equal(sqlite_files_check(dir, note, &seen, NULL), 0);
	assert_int_equal(total(dir), DAYS - 1);
	/* the other tenants' stay */
	del = (struct store_deletion){ .tenant = "shop", .selector = "{}", .end_ns = INT64_MAX };
	assert_int_equal(sqlite_files_delete(dir, &del, note, &seen, NULL), 0);
	assert_int_equal(total(dir), DAYS - 1);
	fixture_remove(dir);
}

static void changes_need_the_directory(void **state)
{
	char *dir = make_store();
	struct store *s = fixture_open(dir);
	struct seen seen = { 0 };
	struct err err = { 0 };

	assert_int_equal(sqlite_files_compact(dir, note, &seen, &err), -EBUSY);
	assert_non_null(strstr(err.msg, "in use"));
	assert_int_equal(seen.n, 0);
	store_close(s);
	assert_int_equal(sqlite_files_compact(dir, note, &seen, NULL), 0);
	assert_int_equal(seen.n, DAYS);
	assert_int_equal(total(dir), DAYS);
	fixture_remove(dir);
}

TEST_GROUP(test_sqlite_files, TEST(all_files_are_checked_whatever_they_are),
	   TEST(a_whole_day_is_deleted_even_if_it_is_damaged), TEST(changes_need_the_directory))
