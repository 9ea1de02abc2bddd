/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/day_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "tests/test.h"

static void put_file(const char *dir, const char *name, size_t len)
{
	static const char zeros[65536];
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	*strrchr(path, '/') = 0;
	(void)mkdir(path, 0755);
	path[strlen(path)] = '/';
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, zeros, len), len);
	close(fd);
}

static bool exists(const char *dir, const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

static void a_path_has_the_tenant_and_the_date(void **state)
{
	static const struct {
		int64_t number;
		const char *path;
	} cases[] = { { 0, "/d/t/1970-01-01.db" },
		      { 59, "/d/t/1970-03-01.db" },
		      { 11016, "/d/t/2000-02-29.db" },
		      { 20777, "/d/t/2026-11-20.db" } };
	char path[DAY_FILES_PATH_LEN];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		day_files_path("/d", "t", cases[i].number, path);
		assert_string_equal(path, cases[i].path);
	}
}

static void only_names_of_days_are_listed_oldest_first(void **state)
{
	static const char *const other[] = {
		"2026-11-20.db.damaged-1", "2026-11-20.db-shm", "x2026-11-20.db", "2026-11-20",
		"2026-13-01.db",           "2026-02-30.db",     "2026-00-10.db",  "+026-01-10.db",
		"2026- 1-10.db",           "2026-11-1.db.",     "notes.txt"
	};
	struct day_files f = { 0 };
	char *dir = fixture_dir(), name[64];

	put_file(dir, "shop/2026-11-20.db", 8192);
	put_file(dir, "shop/2000-02-29.db", 8192);
	put_file(dir, "mail/2026-11-20.db", 8192);
	put_file(dir, "mail/2026-11-20.db-wal", 65536);
	put_file(dir, "lock", 1);
	put_file(dir, "no tenant/2026-11-20.db", 1);
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		snprintf(name, sizeof(name), "shop/%s", other[i]);
		put_file(dir, name, 1);
	}
	assert_int_equal(day_files_list(dir, &f), 0);
	assert_int_equal(f.len, 3);
	assert_int_equal(f.data[0].number, 11016);
	assert_string_equal(f.data[0].tenant, "shop");
	assert_int_equal(f.data[1].number, 20777);
	assert_string_equal(f.data[1].tenant, "mail");
	assert_string_equal(f.data[2].tenant, "shop");
	/* the log counts */
	assert_true(f.data[1].bytes >= 8192 + 65536);
	assert_true(f.data[2].bytes >= 8192 && f.data[2].bytes < f.data[1].bytes);
	day_files_fini(&f);
	f = (struct day_files){ 0 };
	assert_int_equal(day_files_list_tenant(dir, "shop", &f), 0);
	assert_int_equal(f.len, 2);
	assert_int_equal(day_files_list_tenant(dir, "nobody", &f), 0);
	assert_int_equal(f.len, 2);
	day_files_fini(&f);
	fixture_remove(dir);
}

static void a_day_is_removed_with_its_log(void **state)
{
	char *dir = fixture_dir();

	put_file(dir, "shop/2026-11-20.db", 1);
	put_file(dir, "shop/2026-11-20.db-wal", 1);
	put_file(dir, "shop/2026-11-20.db-shm", 1);
	put_file(dir, "shop/2026-11-21.db", 1);
	assert_int_equal(day_files_unlink(dir, "shop", 20777), 0);
	assert_false(exists(dir, "shop/2026-11-20.db"));
	assert_false(exists(dir, "shop/2026-11-20.db-wal"));
	assert_false(exists(dir, "shop/2026-11-20.db-shm"));
	assert_true(exists(dir, "shop/2026-11-21.db"));
	assert_int_equal(day_files_unlink(dir, "shop", 20777), 0);
	assert_int_equal(day_files_unlink(dir, "nobody", 20777), 0);
	fixture_remove(dir);
}

TEST_GROUP(test_day_files, TEST(a_path_has_the_tenant_and_the_date),
	   TEST(only_names_of_days_are_listed_oldest_first), TEST(a_day_is_removed_with_its_log))
