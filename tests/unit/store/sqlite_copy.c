/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/sqlite_copy.h"

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

static int note(void *ctx, const struct store_file *f)
{
	(*(int *)ctx)++;
	return 0;
}

static void damage(const char *dir, int day)
{
	char path[DAY_FILES_PATH_LEN];

	day_files_path(dir, "anonymous", NOON / DAY + day, path);
	assert_int_equal(truncate(path, PAGE_SUMS_PAGE_LEN * 3), 0);
}

static void a_copy_is_complete_or_absent(void **state)
{
	char *dir = make_store(), *other = fixture_dir(), to[300], staging[320];
	int seen = 0;
	struct err err = { 0 };

	assert_int_equal(sqlite_copy(dir, other, note, &seen, NULL), 0);
	assert_int_equal(seen, DAYS);
	assert_int_equal(total(other), DAYS);
	assert_int_equal(sqlite_copy(dir, other, note, &seen, &err), -ENOTEMPTY);
	snprintf(to, sizeof(to), "%s/copy", other);
	damage(dir, 1);
	err = (struct err){ 0 };
	assert_int_equal(sqlite_copy(dir, to, note, &seen, &err), -EUCLEAN);
	assert_non_null(strstr(err.msg, "cannot copy"));
	assert_int_equal(access(to, F_OK), -1);
	snprintf(staging, sizeof(staging), "%s/" SQLITE_COPY_STAGING, other);
	assert_int_equal(sqlite_copy_check(other, NULL), 0);
	assert_int_equal(mkdir(staging, 0700), 0);
	assert_int_equal(sqlite_copy_check(other, NULL), -EUCLEAN);
	assert_int_equal(sqlite_copy(other, to, note, &seen, NULL), -EUCLEAN);
	fixture_remove(dir);
	fixture_remove(other);
}

TEST_GROUP(test_sqlite_copy, TEST(a_copy_is_complete_or_absent))
