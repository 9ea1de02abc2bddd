/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "fixture.h"
#include "tests/test.h"

static const struct db_identity one = { "one" }, two = { "two" };

static void lines_are_restored(void **state)
{
	struct manifest m = { .tenant = "shop" }, copy = { 0 };
	char *dir = fixture_dir(), path[300];

	snprintf(path, sizeof(path), "%s/shop", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(manifest_record(&m, 20777, &one, 5, NULL), 0);
	assert_int_equal(manifest_record(&m, 20778, &two, 0, NULL), 0);
	assert_true(m.is_changed);
	assert_int_equal(manifest_save(&m, dir, NULL), 0);
	assert_false(m.is_changed);
	assert_int_equal(manifest_load(&copy, dir, "shop", NULL), 0);
	assert_int_equal(copy.len, 2);
	assert_int_equal(copy.data[0].day, 20777);
	assert_int_equal(copy.data[0].n_windows, 5);
	assert_memory_equal(&copy.data[1].identity, &two, sizeof(two));
	manifest_fini(&copy);
	copy = (struct manifest){ 0 };
	assert_int_equal(manifest_load(&copy, dir, "nobody", NULL), 0);
	assert_int_equal(copy.len, 0);
	manifest_fini(&m);
	fixture_remove(dir);
}

static void windows_only_increase(void **state)
{
	struct manifest m = { 0 };
	struct err err = { 0 };

	assert_int_equal(manifest_record(&m, 20777, &one, 5, NULL), 0);
	assert_int_equal(manifest_record(&m, 20777, &one, 7, NULL), 0);
	assert_int_equal(m.len, 1);
	assert_int_equal(manifest_record(&m, 20777, &one, 6, &err), -EUCLEAN);
	assert_non_null(strstr(err.msg, "6 windows, but had 7"));
	assert_int_equal(manifest_record(&m, 20777, &two, 1, NULL), 0);
	assert_int_equal(m.len, 2);
	manifest_fini(&m);
}

static void another_file_of_the_day_is_a_loss(void **state)
{
	struct manifest m = { .tenant = "shop" };
	struct err err = { 0 };

	assert_int_equal(manifest_check(&m, 20777, NULL, NULL), 0);
	assert_int_equal(manifest_record(&m, 20777, &one, 5, NULL), 0);
	assert_int_equal(manifest_check(&m, 20777, &one, NULL), 0);
	assert_int_equal(manifest_check(&m, 20776, NULL, NULL), 0);
	assert_int_equal(manifest_check(&m, 20777, &two, NULL), -EUCLEAN);
	assert_int_equal(manifest_check(&m, 20777, NULL, &err), -EUCLEAN);
	assert_string_equal(err.msg, "2026-11-20 of tenant shop: a file with 5 windows or more "
				     "was deleted");
	manifest_remove(&m, 20777);
	assert_int_equal(manifest_check(&m, 20777, NULL, NULL), 0);
	manifest_fini(&m);
}

static void damaged_lines_are_left_out_and_reported(void **state)
{
	static const char *const lines[] = { "nonsense", "2026-11-20 00 5 6",
					     ("2026-11-20 6f6e65000000000000000000000000000 5 "
					      "0123456789abcdef") };
	struct manifest m = { .tenant = "shop" }, copy = { 0 };
	char *dir = fixture_dir(), path[300];
	struct err err = { 0 };
	FILE *f;

	snprintf(path, sizeof(path), "%s/shop", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(manifest_record(&m, 20777, &one, 5, NULL), 0);
	assert_int_equal(manifest_save(&m, dir, NULL), 0);
	snprintf(path, sizeof(path), "%s/shop/manifest", dir);
	f = fopen(path, "ae");
	assert_non_null(f);
	for (size_t i = 0; i < 3; i++)
		fprintf(f, "%s\n", lines[i]);
	fclose(f);
	assert_int_equal(manifest_load(&copy, dir, "shop", &err), -EBADMSG);
	assert_non_null(strstr(err.msg, "3 lines are damaged"));
	assert_int_equal(copy.len, 1);
	manifest_fini(&copy);
	manifest_fini(&m);
	fixture_remove(dir);
}

TEST_GROUP(test_manifest, TEST(lines_are_restored), TEST(windows_only_increase),
	   TEST(another_file_of_the_day_is_a_loss), TEST(damaged_lines_are_left_out_and_reported))
