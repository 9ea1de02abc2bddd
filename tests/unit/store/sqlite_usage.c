/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/sqlite_usage.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "fixture.h"
#include "store/store.h"
#include "tests/test.h"

enum { DAYS = 3, SEEN_MAX = 8, STOPPED = 42 };

struct seen {
	int64_t start_ns[SEEN_MAX], n_windows[SEEN_MAX];
	uint64_t bytes[SEEN_MAX], n_series[SEEN_MAX], n_parts[SEEN_MAX];
	bool is_damaged[SEEN_MAX];
	int n, stop_after;
};

static int on_day(void *ctx, const struct store_usage_day *day)
{
	struct seen *s = ctx;

	assert_true(s->n < SEEN_MAX);
	assert_string_equal(day->tenant, "anonymous");
	s->start_ns[s->n] = day->start_ns;
	s->bytes[s->n] = day->bytes;
	s->n_windows[s->n] = (int64_t)day->n_windows;
	s->n_series[s->n] = day->n_series;
	s->is_damaged[s->n] = day->damage != NULL;
	for (int i = 0; i < STORE_USAGE_PARTS; i++)
		s->n_parts[s->n] += day->parts[i] > 0;
	return ++s->n == s->stop_after ? STOPPED : 0;
}

/* Makes a directory in which each day has a profile of one more service than the day before. */
static char *make_days(void)
{
	static const char *const services[DAYS] = { "a", "b", "c" };
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);

	for (int day = 0; day < DAYS; day++)
		for (int i = 0; i <= day; i++)
			assert_int_equal(fixture_append(s, services[i], "1", NOON + day * DAY, NULL,
							"main;work 3\n"),
					 0);
	store_close(s);
	return dir;
}

/* Writes the paths of the days' files to @out. */
static void find_files(const char *dir, char out[DAYS][128])
{
	char pattern[128];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/*/*.db", dir);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, DAYS);
	for (size_t i = 0; i < DAYS; i++)
		assert_true(snprintf(out[i], sizeof(out[i]), "%s", found.gl_pathv[i]) < 128);
	globfree(&found);
}

static void each_day_has_the_size_and_contents_of_its_file(void **state)
{
	struct seen seen = { 0 };
	char *dir = make_days(), files[DAYS][128];
	struct stat st;

	find_files(dir, files);
	assert_int_equal(sqlite_usage_days(dir, "anonymous", DB_READ, on_day, &seen, NULL), 0);
	assert_int_equal(seen.n, DAYS);
	for (int i = 0; i < DAYS; i++) {
		assert_int_equal(stat(files[i], &st), 0);
		assert_true(seen.bytes[i] >= (uint64_t)st.st_size);
		assert_true(seen.start_ns[i] == NOON - DAY / 2 + i * DAY);
		assert_int_equal(seen.n_windows[i], i + 1);
		assert_int_equal(seen.n_series[i], i + 1);
		assert_true(seen.n_parts[i] >= 4);
		assert_false(seen.is_damaged[i]);
	}
	fixture_remove(dir);
}

static void the_callback_can_stop_and_other_tenants_have_nothing(void **state)
{
	struct seen seen = { .stop_after = 2 }, none = { 0 };
	char *dir = make_days();

	assert_int_equal(sqlite_usage_days(dir, NULL, DB_READ, on_day, &seen, NULL), STOPPED);
	assert_int_equal(seen.n, 2);
	assert_int_equal(sqlite_usage_days(dir, "other", DB_READ, on_day, &none, NULL), 0);
	assert_int_equal(none.n, 0);
	fixture_remove(dir);
}

static void damaged_and_deleted_days_are_reported_as_such(void **state)
{
	static const char text[] = "this is not a database";
	struct seen seen = { 0 };
	char *dir = make_days(), files[DAYS][128];
	int fd;

	find_files(dir, files);
	fd = open(files[2], O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, text, sizeof(text), 0), sizeof(text));
	close(fd);
	assert_int_equal(unlink(files[0]), 0);
	assert_int_equal(sqlite_usage_days(dir, "anonymous", DB_READ, on_day, &seen, NULL), 0);
	assert_int_equal(seen.n, DAYS);
	assert_true(seen.is_damaged[0]);
	assert_false(seen.is_damaged[1]);
	assert_true(seen.is_damaged[2]);
	assert_int_equal(seen.n_windows[1], 2);
	fixture_remove(dir);
}

TEST_GROUP(test_sqlite_usage, TEST(each_day_has_the_size_and_contents_of_its_file),
	   TEST(the_callback_can_stop_and_other_tenants_have_nothing),
	   TEST(damaged_and_deleted_days_are_reported_as_such))
