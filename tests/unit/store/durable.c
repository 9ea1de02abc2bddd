/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "fixture.h"
#include "tests/test.h"

static void a_directory_is_locked_once(void **state)
{
	char *dir = fixture_dir(), path[300];
	struct err err = { 0 };
	int a = -1, b = -1;

	snprintf(path, sizeof(path), "%s/store", dir);
	assert_int_equal(durable_lock(path, false, &a, NULL), -ENOENT);
	assert_int_equal(durable_lock(path, true, &a, NULL), 0);
	assert_int_equal(durable_lock(path, true, &b, &err), -EBUSY);
	assert_int_equal(b, -1);
	assert_non_null(strstr(err.msg, "in use by another process"));
	close(a);
	assert_int_equal(durable_lock(path, false, &b, NULL), 0);
	close(b);
	fixture_remove(dir);
}

/* A process of an earlier version holds it while it runs. */
static void the_file_of_earlier_versions_is_respected_and_removed(void **state)
{
	char *dir = fixture_dir(), path[300];
	int fd, lock = -1;

	snprintf(path, sizeof(path), "%s/lock", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(durable_lock(dir, true, &lock, NULL), -EBUSY);
	assert_int_equal(access(path, F_OK), 0);
	close(fd);
	assert_int_equal(durable_lock(dir, true, &lock, NULL), 0);
	assert_int_equal(access(path, F_OK), -1);
	close(lock);
	/* a tenant's directory of this name stays */
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(durable_lock(dir, true, &lock, NULL), 0);
	assert_int_equal(access(path, F_OK), 0);
	close(lock);
	fixture_remove(dir);
}

static void a_rename_replaces(void **state)
{
	char *dir = fixture_dir(), a[300], b[300];
	struct err err = { 0 };

	snprintf(a, sizeof(a), "%s/a", dir);
	snprintf(b, sizeof(b), "%s/b", dir);
	assert_int_equal(durable_mkdir(a, NULL), 0);
	assert_int_equal(durable_mkdir(a, NULL), 0);
	assert_int_equal(durable_mkdir(b, NULL), 0);
	assert_int_equal(durable_rename(a, b, NULL), 0);
	assert_int_equal(durable_rename(a, b, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "cannot rename"));
	assert_int_equal(durable_mkdir("/nonexistent/a", &err), -ENOENT);
	assert_int_equal(durable_sync(a), -ENOENT);
	fixture_remove(dir);
}

TEST_GROUP(test_durable, TEST(a_directory_is_locked_once),
	   TEST(the_file_of_earlier_versions_is_respected_and_removed), TEST(a_rename_replaces))
