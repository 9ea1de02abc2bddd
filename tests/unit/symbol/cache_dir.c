/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/cache_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "tests/test.h"
#include "tests/unit/symbol/tempdir.h"

enum { MAX = 100 };

static int open_cache(struct cache_dir **out, const char *path, struct err *err)
{
	const struct cache_dir_opts opts = { path, ".thing", MAX };

	return cache_dir_open(out, &opts, err);
}

/* Publishes a file of @len bytes whose last use was at @when. */
static int keep(struct cache_dir *c, const char *name, size_t len, time_t when)
{
	const struct timespec times[2] = { { .tv_sec = when }, { .tv_sec = when } };
	int fd = cache_dir_create_unnamed(c), r;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	assert_int_equal(futimens(fd, times), 0);
	r = cache_dir_publish(c, fd, name);
	close(fd);
	return r;
}

static bool has(struct cache_dir *c, const char *dir, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

static void creates_the_directory_and_its_parents(void **state)
{
	struct cache_dir *c;
	struct stat st;
	char path[128];

	snprintf(path, sizeof(path), "%s/a/b/c", (char *)*state);
	assert_int_equal(open_cache(&c, path, NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	cache_dir_free(c);
}

static void refuses_a_directory_that_others_can_write_to(void **state)
{
	struct err err = { 0 };
	struct cache_dir *c;

	for (mode_t mode = 0702; mode <= 0720; mode += 016) {
		assert_int_equal(chmod(*state, mode), 0);
		err = (struct err){ 0 };
		assert_int_equal(open_cache(&c, *state, &err), -EPERM);
		assert_non_null(strstr(err.msg, "writable by other users"));
	}
}

static void refuses_a_directory_of_another_user(void **state)
{
	struct err err = { 0 };
	struct cache_dir *c;

	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(*state, 12345, 0), 0);
	assert_int_equal(open_cache(&c, *state, &err), -EPERM);
	assert_non_null(strstr(err.msg, "another user"));
}

static void a_file_appears_complete_and_is_not_replaced(void **state)
{
	struct cache_dir *c;
	struct stat st;
	int fd;

	assert_int_equal(open_cache(&c, *state, NULL), 0);
	assert_int_equal(cache_dir_get(c, "a.thing"), -ENOENT);
	assert_int_equal(keep(c, "a.thing", 7, 1000), 0);
	assert_int_equal(keep(c, "a.thing", 9, 1000), -EEXIST);
	fd = cache_dir_get(c, "a.thing");
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 7);
	assert_true(st.st_mtim.tv_sec > 1000); /* cache_dir_get() marks the file as used. */
	close(fd);
	cache_dir_remove(c, "a.thing");
	assert_int_equal(cache_dir_get(c, "a.thing"), -ENOENT);
	cache_dir_free(c);
}

static void reads_only_regular_files(void **state)
{
	struct cache_dir *c;
	char path[128];

	assert_int_equal(open_cache(&c, *state, NULL), 0);
	snprintf(path, sizeof(path), "%s/link.thing", (char *)*state);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_true(cache_dir_get(c, "link.thing") < 0);
	snprintf(path, sizeof(path), "%s/fifo.thing", (char *)*state);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(cache_dir_get(c, "fifo.thing"), -ENOENT);
	cache_dir_free(c);
}

static void removes_the_oldest_files_over_the_limit(void **state)
{
	struct cache_dir *c;
	char name[16];

	assert_int_equal(open_cache(&c, *state, NULL), 0);
	assert_int_equal(keep(c, "key", 1000, 1), 0); /* Without the suffix, it is not counted. */
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "%d.thing", i);
		assert_int_equal(keep(c, name, 30, i < 2 ? 5000 : 1000 + i), 0);
	}
	/* 0 and 1 were used last. Next to them, there is room for the newest of the others. */
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "%d.thing", i);
		assert_int_equal(has(c, *state, name), i < 2 || i == 7);
	}
	assert_true(has(c, *state, "key"));
	cache_dir_free(c);
}

static void counts_files_of_earlier_processes(void **state)
{
	struct cache_dir *c;

	assert_int_equal(open_cache(&c, *state, NULL), 0);
	assert_int_equal(keep(c, "old.thing", 80, 1000), 0);
	cache_dir_free(c);
	assert_int_equal(open_cache(&c, *state, NULL), 0);
	assert_int_equal(keep(c, "new.thing", 80, 2000), 0);
	assert_false(has(c, *state, "old.thing"));
	assert_true(has(c, *state, "new.thing"));
	cache_dir_free(c);
}

#define TEST_IN_DIR(fn) cmocka_unit_test_setup_teardown(fn, tempdir_make, tempdir_remove)

TEST_GROUP(test_cache_dir, TEST_IN_DIR(creates_the_directory_and_its_parents),
	   TEST_IN_DIR(refuses_a_directory_that_others_can_write_to),
	   TEST_IN_DIR(refuses_a_directory_of_another_user),
	   TEST_IN_DIR(a_file_appears_complete_and_is_not_replaced),
	   TEST_IN_DIR(reads_only_regular_files),
	   TEST_IN_DIR(removes_the_oldest_files_over_the_limit),
	   TEST_IN_DIR(counts_files_of_earlier_processes))
