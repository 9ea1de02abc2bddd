/* SPDX-License-Identifier: Apache-2.0 */
#include "base/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "tests/test.h"

static void make_file(int dir, const char *name, time_t when)
{
	const struct timespec times[2] = { { .tv_sec = when }, { .tv_sec = when } };
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "abc", 3), 3);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

static void lists_matching_regular_files_by_age(void **state)
{
	char path[] = "/tmp/cameo-dir-XXXXXX";
	struct dir_files files = { 0 };
	int fd;

	assert_non_null(mkdtemp(path));
	fd = dir_open_private(path, NULL);
	assert_true(fd >= 0);
	make_file(fd, "x-new.y", 300);
	make_file(fd, "x-ahead.y", time(NULL) + 3600);
	/* the clock of a file server is ahead of this one's */
	make_file(fd, "x-newest.y", time(NULL) + 5);
	make_file(fd, "x-b.y", 200);
	make_file(fd, "x-a.y", 200);
	make_file(fd, "other", 100);
	assert_int_equal(mkdirat(fd, "x-dir.y", 0700), 0);
	assert_int_equal(symlinkat("other", fd, "x-link.y"), 0);
	assert_int_equal(dir_list(fd, "x-", ".y", &files), 0);
	assert_int_equal(files.len, 5);
	assert_string_equal(files.data[0].name, "x-ahead.y");
	assert_true(files.data[0].is_ahead);
	assert_string_equal(files.data[1].name, "x-a.y");
	assert_string_equal(files.data[2].name, "x-b.y");
	assert_string_equal(files.data[3].name, "x-new.y");
	assert_string_equal(files.data[4].name, "x-newest.y");
	assert_false(files.data[4].is_ahead);
	assert_int_equal(files.data[0].bytes, 3);
	for (size_t i = 0; i < files.len; i++)
		unlinkat(fd, files.data[i].name, 0);
	unlinkat(fd, "other", 0);
	unlinkat(fd, "x-link.y", 0);
	unlinkat(fd, "x-dir.y", AT_REMOVEDIR);
	dir_files_fini(&files);
	close(fd);
	assert_int_equal(rmdir(path), 0);
}

static void creates_missing_parents_and_refuses_a_shared_directory(void **state)
{
	char top[] = "/tmp/cameo-dir-XXXXXX", path[64];
	struct err err = { 0 };
	int fd;

	assert_non_null(mkdtemp(top));
	snprintf(path, sizeof(path), "%s/a/b", top);
	fd = dir_open_private(path, NULL);
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0770), 0);
	assert_int_equal(dir_open_private(path, &err), -EPERM);
	assert_non_null(strstr(err.msg, "is writable by other users"));
	close(fd);
	rmdir(path);
	path[strlen(path) - 2] = 0;
	rmdir(path);
	assert_int_equal(rmdir(top), 0);
	assert_int_equal(dir_open_private("/dev/null", NULL), -ENOTDIR);
}

TEST_GROUP(test_dir, TEST(lists_matching_regular_files_by_age),
	   TEST(creates_missing_parents_and_refuses_a_shared_directory))
