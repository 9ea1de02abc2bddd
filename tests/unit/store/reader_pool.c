/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/reader_pool.h"

#include "fixture.h"
#include "store/sqlite/day_files.h"
#include "store/store.h"
#include "tests/test.h"

static char *make_day(char *path)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);

	assert_int_equal(fixture_append(s, "shop", "1", NOON, NULL, "main 1\n"), 0);
	store_close(s);
	day_files_path(dir, "anonymous", NOON / DAY, path);
	return dir;
}

static void released_readers_are_used_again(void **state)
{
	static const enum db_mode modes[] = { DB_READ, DB_REPLICA };

	for (size_t i = 0; i < 2; i++) {
		char path[DAY_FILES_PATH_LEN], *dir = make_day(path);
		struct reader *first = NULL, *second = NULL, *third = NULL;
		struct reader_pool pool;

		reader_pool_init(&pool, path, modes[i]);
		assert_int_equal(reader_pool_acquire(&pool, &first, NULL), 0);
		assert_int_equal(reader_pool_acquire(&pool, &second, NULL), 0);
		assert_ptr_not_equal(first, second);
		assert_int_equal(reader_pool_bytes(&pool), 0);
		reader_pool_release(&pool, first);
		assert_true(reader_pool_bytes(&pool) > 0);
		assert_int_equal(reader_pool_acquire(&pool, &third, NULL), 0);
		assert_ptr_equal(third, first);
		reader_pool_release(&pool, second);
		reader_pool_release(&pool, third);
		reader_pool_fini(&pool);
		fixture_remove(dir);
	}
}

static void some_days_may_always_be_open(void **state)
{
	assert_in_range(reader_pool_max_days(), 6, 256);
}

TEST_GROUP(test_reader_pool, TEST(released_readers_are_used_again),
	   TEST(some_days_may_always_be_open))
