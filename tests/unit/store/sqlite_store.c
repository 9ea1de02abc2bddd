/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties of the SQLite store beyond the contract: crashes, damaged files, full disks, locking.
 */
#include "store/sqlite/sqlite_store.h"
#include "store/kinds/store_open.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "fixture.h"
#include "tests/test.h"

#define MS 10000000LL

/* Appends until killed. The pipe receives one byte per acknowledged profile. */
static void append_until_killed(const char *dir, int ack)
{
	struct store *s = fixture_open(dir);
	char folded[64];

	for (int i = 0;; i++) {
		snprintf(folded, sizeof(folded), "main;f%d;g%d 1\n", i % 7, i);
		if (fixture_append(s, "shop", "a", NOON + i, NULL, folded) != 0 ||
		    write(ack, "", 1) != 1)
			_exit(1);
	}
}

static void nothing_acknowledged_is_lost_by_kill_9(void **state)
{
	char *dir = fixture_dir();
	int64_t acknowledged = 0;

	for (int round = 0; round < 8; round++) {
		char bytes[256];
		int fds[2], status;
		int64_t total, want = acknowledged + 3 + round * 5;
		struct store *s;
		ssize_t n;
		pid_t pid;

		assert_int_equal(pipe(fds), 0);
		pid = fork();
		if (pid == 0)
			append_until_killed(dir, fds[1]);
		close(fds[1]);
		while (acknowledged < want && (n = read(fds[0], bytes, 1)) > 0)
			acknowledged += n;
		kill(pid, SIGKILL);
		while ((n = read(fds[0], bytes, sizeof(bytes))) > 0)
			acknowledged += n;
		waitpid(pid, &status, 0);
		close(fds[0]);
		assert_true(WIFSIGNALED(status));
		s = fixture_open(dir);
		total = fixture_total(s, "shop", 0, INT64_MAX) / MS;
		store_close(s);
		assert_in_range(total, acknowledged, acknowledged + 1);
		acknowledged = total;
	}
	fixture_remove(dir);
}

static void note_warning(void *ctx, const char *message)
{
	snprintf(ctx, 300, "%s", message);
}

/* Creates a store with one profile and returns the path of its day file. */
static char *one_day(const char *dir)
{
	struct store *s = fixture_open(dir);
	char *path;

	assert_int_equal(fixture_append(s, "shop", "a", NOON, NULL, "main;f 1\n"), 0);
	store_close(s);
	assert_true(asprintf(&path, "%s/anonymous/2026-11-21.db", dir) > 0);
	return path;
}

/* Queries of the day fail, appending can be repeated, and other days work. */
static void expect_refused(const char *dir)
{
	struct store *s = NULL;
	char warning[300] = "";
	struct store_options opt = { .dir = dir, .warn = note_warning, .warn_ctx = warning };
	const struct store_select sel = { .tenant = "anonymous", .end_ns = INT64_MAX };
	struct merged_stacks *stacks = NULL;
	struct store_stats stats;
	struct err err = { 0 };

	assert_int_equal(store_open(&s, &opt, NULL), 0);
	assert_int_equal(store_merge(s, &sel, &stacks, &err), -EUCLEAN);
	assert_null(stacks);
	assert_non_null(strstr(err.msg, "2026-11-21.db"));
	assert_string_equal(warning, err.msg);
	assert_int_equal(store_stats(s, "anonymous", &stats, NULL), -EUCLEAN);
	assert_int_equal(fixture_append(s, "shop", "a", NOON, NULL, "main;f 5\n"), -EUCLEAN);
	assert_int_equal(fixture_append(s, "shop", "a", NOON + DAY, NULL, "main;f 5\n"), 0);
	assert_int_equal(fixture_total(s, "shop", NOON + DAY, INT64_MAX), 5 * MS);
	store_close(s);
}

static void a_truncated_file_is_refused(void **state)
{
	char *dir = fixture_dir();
	_cleanup_(freep) char *path = one_day(dir);

	assert_int_equal(truncate(path, 20000), 0);
	expect_refused(dir);
	fixture_remove(dir);
}

static void a_foreign_file_is_refused(void **state)
{
	char *dir = fixture_dir();
	_cleanup_(freep) char *path = one_day(dir);
	FILE *f = fopen(path, "w");

	for (int i = 0; i < 1000; i++)
		fputs("this is not a database\n", f);
	fclose(f);
	expect_refused(dir);
	fixture_remove(dir);
}

/* A limit on file size simulates a full disk. */
static int fill_disk(const char *dir)
{
	const struct rlimit full = { 200000, RLIM_INFINITY },
			    room = { RLIM_INFINITY, RLIM_INFINITY };
	struct store *s = fixture_open(dir);
	int64_t n = 0;
	int r = 0;

	signal(SIGXFSZ, SIG_IGN);
	if (fixture_append(s, "shop", "a", NOON, NULL, "f 1\n") != 0)
		return 2;
	setrlimit(RLIMIT_FSIZE, &full);
	for (n = 1; n < 1000 && r == 0; n++) {
		char folded[64];

		snprintf(folded, sizeof(folded), "f%d;g 1\n", (int)n);
		r = fixture_append(s, "shop", "a", NOON + n, NULL, folded);
	}
	n--;
	if (r == 0 || fixture_total(s, "shop", 0, INT64_MAX) != n * MS)
		return 3;
	setrlimit(RLIMIT_FSIZE, &room);
	if (fixture_append(s, "shop", "a", NOON, NULL, "f 1\n") != 0)
		return 4;
	if (fixture_total(s, "shop", 0, INT64_MAX) != (n + 1) * MS)
		return 5;
	store_close(s);
	s = fixture_open(dir);
	r = fixture_total(s, "shop", 0, INT64_MAX) == (n + 1) * MS ? 0 : 6;
	store_close(s);
	return r;
}

static void a_full_disk_is_an_error_until_there_is_space(void **state)
{
	char *dir = fixture_dir();
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(fill_disk(dir));
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	fixture_remove(dir);
}

static void two_processes_do_not_share_a_directory(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir), *twice = NULL;

	assert_int_equal(store_open(&twice, &(struct store_options){ .dir = dir }, NULL), -EBUSY);
	store_close(s);
	fixture_remove(dir);
}

static off_t log_len(const char *dir)
{
	char path[400];
	struct stat st;

	snprintf(path, sizeof(path), "%s/anonymous/2026-11-21.db-wal", dir);
	return stat(path, &st) == 0 ? st.st_size : -1;
}

static void roll_up(struct store *s, int passes)
{
	for (int i = 0; i < passes; i++)
		assert_int_equal(store_roll_up(s, NOON, NULL), 0);
}

/* A pass that finds a commit since the one before leaves the log alone. */
static void the_log_of_a_quiet_day_is_emptied(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);

	for (int round = 1; round <= 3; round++) {
		assert_int_equal(fixture_append(s, "shop", "a", NOON + round, NULL, "main 1\n"), 0);
		roll_up(s, 1);
		assert_true(log_len(dir) > 0);
		roll_up(s, 3);
		assert_int_equal(log_len(dir), 0);
		assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), round * MS);
	}
	store_close(s);
	s = fixture_open(dir);
	assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), 3 * MS);
	store_close(s);
	fixture_remove(dir);
}

TEST_GROUP(test_sqlite_store, TEST(the_log_of_a_quiet_day_is_emptied),
	   TEST(nothing_acknowledged_is_lost_by_kill_9), TEST(a_truncated_file_is_refused),
	   TEST(a_foreign_file_is_refused), TEST(a_full_disk_is_an_error_until_there_is_space),
	   TEST(two_processes_do_not_share_a_directory))
