/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/day_rewrite.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/err.h"
#include "fixture.h"
#include "old_format.h"
#include "store/files.h"
#include "store/matcher.h"
#include "store/sqlite/day_check.h"
#include "store/sqlite/day_files.h"
#include "store/sqlite/page_sums.h"
#include "store/store.h"
#include "tests/test.h"

enum { NUMBER = 20778, N = 8 };

static char *make_day(char *path)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);

	for (int i = 0; i < N; i++)
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

static int64_t total(const char *dir, const char *service)
{
	struct store *s = fixture_open(dir);
	int64_t sum = fixture_total(s, service, NOON, NOON + DAY / 4);

	store_close(s);
	return sum;
}

static void a_rewritten_file_has_the_same_content(void **state)
{
	char path[DAY_FILES_PATH_LEN], *dir = make_day(path);
	struct day_check before, after;
	struct day_rewrite done;
	int64_t sum = total(dir, NULL);

	assert_int_equal(day_check(path, NUMBER, &before, NULL), 0);
	assert_int_equal(day_rewrite(path, NUMBER, NULL, NULL, NULL, &done, NULL), 0);
	assert_int_equal(day_check(path, NUMBER, &after, NULL), 0);
	assert_int_equal(done.n_windows, N);
	assert_int_equal(done.n_deleted, 0);
	assert_memory_equal(&before.identity, &after.identity, sizeof(after.identity));
	assert_true(sum > 0);
	assert_int_equal(total(dir, NULL), sum);
	fixture_remove(dir);
}

/* Arguments of the callback, and its result. */
struct seen {
	uint64_t n_windows;
	int calls, r;
};

static int note(void *ctx, const struct day_rewrite *done, struct err *err)
{
	struct seen *s = ctx;

	s->n_windows = done->n_windows;
	s->calls++;
	return s->r;
}

static void selected_windows_are_deleted(void **state)
{
	char path[DAY_FILES_PATH_LEN], *dir = make_day(path);
	struct matcher *m = NULL;
	struct store_deletion del = { .matchers = &m, .n_matchers = 1, .end_ns = INT64_MAX };
	int64_t shop = total(dir, "shop");
	struct seen seen = { .r = -ECANCELED };
	struct day_rewrite done;
	struct day_check have;

	assert_int_equal(matcher_new(&m, MATCHER_EQ, "service_name", "shop", NULL), 0);
	/* the callback can prevent it */
	assert_int_equal(day_rewrite(path, NUMBER, &del, note, &seen, &done, NULL), -ECANCELED);
	assert_int_equal(total(dir, "shop"), shop);
	seen.r = 0;
	assert_int_equal(day_rewrite(path, NUMBER, &del, note, &seen, &done, NULL), 0);
	assert_int_equal(seen.calls, 2);
	assert_int_equal(seen.n_windows, N / 2);
	assert_int_equal(done.n_deleted, N / 2);
	assert_int_equal(day_check(path, NUMBER, &have, NULL), 0);
	assert_int_equal(have.n_windows, N / 2);
	/* nothing is selected any more, so nothing is written */
	assert_int_equal(day_rewrite(path, NUMBER, &del, note, &seen, &done, NULL), 0);
	assert_int_equal(seen.calls, 2);
	matcher_free(m);
	fixture_remove(dir);
}

static void a_range_excludes_its_end(void **state)
{
	char path[DAY_FILES_PATH_LEN], *dir = make_day(path);
	struct store_deletion del = { .start_ns = NOON + 2000000000LL,
				      .end_ns = NOON + 5000000000LL };
	struct day_rewrite done;

	assert_int_equal(day_rewrite(path, NUMBER, &del, NULL, NULL, &done, NULL), 0);
	assert_int_equal(done.n_deleted, 3);
	assert_int_equal(done.n_windows, N - 3);
	fixture_remove(dir);
}

static void damage_is_refused_and_leftovers_are_removed(void **state)
{
	char path[DAY_FILES_PATH_LEN], *dir = make_day(path), new[DAY_FILES_PATH_LEN + 8];
	struct day_rewrite done;
	struct err err = { 0 };
	FILE *f;

	snprintf(new, sizeof(new), "%s.new", path);
	f = fopen(new, "we");
	assert_non_null(f);
	fputs("a part of a file", f);
	fclose(f);
	assert_int_equal(truncate(path, PAGE_SUMS_PAGE_LEN * 5), 0);
	assert_int_equal(day_rewrite(path, NUMBER, NULL, NULL, NULL, &done, &err), -EBADMSG);
	assert_true(err.msg[0]);
	assert_int_equal(access(new, F_OK), -1);
	fixture_remove(dir);
}

static void check_conversion(int format)
{
	char path[DAY_FILES_PATH_LEN], *dir = make_day(path);
	int64_t sum = total(dir, NULL);
	struct day_rewrite done;
	struct day_check have;

	old_format_make(path, format);
	assert_int_equal(day_check(path, NUMBER, &have, NULL), 0);
	assert_int_equal(have.format, format);
	assert_int_equal(day_rewrite(path, NUMBER, NULL, NULL, NULL, &done, NULL), 0);
	assert_int_equal(day_check(path, NUMBER, &have, NULL), 0);
	assert_int_equal(have.format, DB_FORMAT);
	assert_int_equal(have.n_windows, N);
	old_format_make(path, format);
	/* a store does it when it opens the day, or when it writes for what need not be copied */
	assert_int_equal(total(dir, NULL), sum);
	assert_int_equal(day_check(path, NUMBER, &have, NULL), 0);
	assert_int_equal(have.format, format >= DB_FORMAT_PAGE_SUMS ? format : DB_FORMAT);
	fixture_remove(dir);
}

static void files_of_older_formats_are_converted(void **state)
{
	for (int format = 1; format < DB_FORMAT; format++)
		check_conversion(format);
}

TEST_GROUP(test_day_rewrite, TEST(a_rewritten_file_has_the_same_content),
	   TEST(selected_windows_are_deleted), TEST(a_range_excludes_its_end),
	   TEST(damage_is_refused_and_leftovers_are_removed),
	   TEST(files_of_older_formats_are_converted))
