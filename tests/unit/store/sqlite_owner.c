/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/sqlite_owner.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "fixture.h"
#include "store/sqlite/sqlite_files.h"
#include "store/store.h"
#include "tests/test.h"

enum { USER = 64123 };

static int n_entries;

static uid_t owner_of(const char *dir, const char *name)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "%s%s", dir, name);
	assert_int_equal(lstat(path, &st), 0);
	return st.st_uid;
}

static const char *in(const char *dir, const char *name)
{
	static char path[300];

	snprintf(path, sizeof(path), "%s%s", dir, name);
	return path;
}

/* Only root may change owners: skips the test of another user. */
static char *dir_of_root(void)
{
	if (geteuid() != 0)
		skip();
	return fixture_dir();
}

/* A store with one day and its manifest. */
static void make_store(const char *dir)
{
	struct store *s = fixture_open(dir);

	assert_int_equal(fixture_append(s, "shop", "a", NOON, NULL, "main 1\n"), 0);
	store_close(s);
}

static void a_store_and_its_files_change_their_owner(void **state)
{
	char *dir = dir_of_root(), *other = dir_of_root(), file[300];
	int fd;

	snprintf(file, sizeof(file), "%s/file", other);
	fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	make_store(dir);
	assert_int_equal(symlink(file, in(dir, "/anonymous/symlink")), 0);
	assert_int_equal(link(file, in(dir, "/anonymous/link")), 0);
	assert_int_equal(sqlite_owner_give(dir, USER, USER, NULL), 0);
	assert_int_equal(owner_of(dir, ""), USER);
	assert_int_equal(owner_of(dir, "/anonymous"), USER);
	assert_int_equal(owner_of(dir, "/anonymous/manifest"), USER);
	assert_int_equal(owner_of(dir, "/anonymous/2026-11-21.db"), USER);
	/* what may be a file of others is theirs */
	assert_int_equal(owner_of(dir, "/anonymous/symlink"), 0);
	assert_int_equal(owner_of(file, ""), 0);
	fixture_remove(dir);
	fixture_remove(other);
}

static void a_directory_with_other_files_is_unchanged(void **state)
{
	char *dir = dir_of_root(), *other = dir_of_root();
	struct err err = { 0 };

	make_store(dir);
	assert_int_equal(mkdir(in(dir, "/spool"), 0755), 0);
	assert_int_equal(sqlite_owner_give(dir, USER, USER, &err), -EEXIST);
	assert_non_null(strstr(err.msg, "holds other files, such as \"spool\""));
	assert_int_equal(owner_of(dir, ""), 0);
	assert_int_equal(owner_of(dir, "/anonymous/manifest"), 0);
	fixture_remove(dir);
	/* not a store at all */
	assert_int_equal(mkdir(in(other, "/spool"), 0755), 0);
	assert_int_equal(sqlite_owner_give(other, USER, USER, NULL), -EEXIST);
	assert_int_equal(owner_of(other, ""), 0);
	fixture_remove(other);
}

static void a_new_file_system_is_an_empty_store(void **state)
{
	char *dir = dir_of_root();

	assert_int_equal(mkdir(in(dir, "/lost+found"), 0700), 0);
	assert_int_equal(sqlite_owner_give(dir, USER, USER, NULL), 0);
	assert_int_equal(owner_of(dir, ""), USER);
	assert_int_equal(owner_of(dir, "/lost+found"), 0);
	fixture_remove(dir);
}

static void a_store_in_use_is_unchanged(void **state)
{
	char *dir = dir_of_root();
	_cleanup_(closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(sqlite_owner_give(dir, USER, USER, NULL), -EBUSY);
	assert_int_equal(owner_of(dir, ""), 0);
	fixture_remove(dir);
}

static void a_new_directory_is_created_for_its_owner(void **state)
{
	char *dir = dir_of_root();

	assert_int_equal(sqlite_owner_give(in(dir, "/new"), USER, USER, NULL), 0);
	assert_int_equal(owner_of(dir, "/new"), USER);
	fixture_remove(dir);
}

static int check_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	if (st->st_uid != USER)
		fail_msg("\"%s\" belongs to user %u", path, st->st_uid);
	n_entries++;
	return 0;
}

static int ignore(void *ctx, const struct store_file *file)
{
	return 0;
}

/* The server, which is this user, must be able to write what root's commands left behind. */
static void what_root_creates_is_the_owners(void **state)
{
	const struct store_deletion del = { .tenant = "anonymous",
					    .selector = "{}",
					    .end_ns = INT64_MAX };
	char *dir = dir_of_root();

	assert_int_equal(chown(dir, USER, USER), 0);
	make_store(dir);
	assert_int_equal(nftw(dir, check_entry, 8, FTW_PHYS), 0);
	assert_int_equal(sqlite_files_compact(dir, ignore, NULL, NULL), 0);
	assert_int_equal(nftw(dir, check_entry, 8, FTW_PHYS), 0);
	assert_int_equal(sqlite_files_delete(dir, &del, ignore, NULL, NULL), 0);
	assert_int_equal(owner_of(dir, "/anonymous/deletions"), USER);
	assert_int_equal(nftw(dir, check_entry, 8, FTW_PHYS), 0);
	assert_true(n_entries >= 3 * 4);
	fixture_remove(dir);
}

static void a_tenant_that_is_a_symbolic_link_is_unchanged(void **state)
{
	char *dir = dir_of_root(), *other = dir_of_root(), tenant[300];

	make_store(other);
	snprintf(tenant, sizeof(tenant), "%s/anonymous", other);
	assert_int_equal(chown(dir, USER, USER), 0);
	assert_int_equal(symlink(tenant, in(dir, "/team")), 0);
	assert_true(sqlite_owner_give(dir, USER, USER, NULL) < 0);
	assert_int_equal(owner_of(other, "/anonymous"), 0);
	assert_int_equal(owner_of(other, "/anonymous/manifest"), 0);
	fixture_remove(dir);
	fixture_remove(other);
}

TEST_GROUP(test_sqlite_owner, TEST(a_store_and_its_files_change_their_owner),
	   TEST(a_directory_with_other_files_is_unchanged),
	   TEST(a_new_file_system_is_an_empty_store), TEST(a_store_in_use_is_unchanged),
	   TEST(a_new_directory_is_created_for_its_owner), TEST(what_root_creates_is_the_owners),
	   TEST(a_tenant_that_is_a_symbolic_link_is_unchanged))
