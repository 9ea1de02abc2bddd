/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/day_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "fixture.h"
#include "store/sqlite/day.h"
#include "store/sqlite/day_files.h"
#include "tests/test.h"

static void note(void *ctx, const char *message)
{
	snprintf(ctx, 300, "%s", message);
}

static bool exists(const char *dir, const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

static void a_day_is_opened_once_and_created_only_on_request(void **state)
{
	_cleanup_(day_cache_freep) struct day_cache *c = NULL;
	struct day_ref *a = NULL, *b = NULL, *open[2];
	char *dir = fixture_dir();

	assert_int_equal(day_cache_new(&c, dir, 0, NULL, NULL), 0);
	assert_int_equal(day_cache_acquire(c, "shop", 20777, false, &a, NULL), -ENOENT);
	assert_null(a);
	assert_false(exists(dir, "shop"));
	assert_int_equal(day_cache_acquire_open(c, open, 2), 0);
	assert_int_equal(day_cache_acquire(c, "shop", 20777, true, &a, NULL), 0);
	assert_true(exists(dir, "shop/2026-11-20.db"));
	assert_int_equal(day_cache_acquire(c, "shop", 20777, false, &b, NULL), 0);
	assert_ptr_equal(day_ref_day(a), day_ref_day(b));
	day_cache_release(c, b);
	/* the same day of another tenant is another day */
	assert_int_equal(day_cache_acquire(c, "mail", 20777, true, &b, NULL), 0);
	assert_ptr_not_equal(day_ref_day(a), day_ref_day(b));
	day_cache_release(c, a);
	day_cache_release(c, b);
	assert_int_equal(day_cache_acquire_open(c, open, 1), 1);
	day_cache_release(c, open[0]);
	assert_int_equal(day_cache_acquire_open(c, open, 2), 2);
	day_cache_release(c, open[0]);
	day_cache_release(c, open[1]);
	fixture_remove(dir);
}

static void a_day_in_use_is_not_dropped(void **state)
{
	_cleanup_(day_cache_freep) struct day_cache *c = NULL;
	struct day_ref *ref = NULL;
	char *dir = fixture_dir();

	assert_int_equal(day_cache_new(&c, dir, 0, NULL, NULL), 0);
	assert_int_equal(day_cache_acquire(c, "shop", 20777, true, &ref, NULL), 0);
	assert_int_equal(day_cache_drop(c, "shop", 20777), 0);
	assert_true(exists(dir, "shop/2026-11-20.db"));
	day_cache_release(c, ref);
	assert_int_equal(day_cache_drop(c, "shop", 20777), 1);
	assert_false(exists(dir, "shop/2026-11-20.db"));
	assert_int_equal(day_cache_drop(c, "shop", 20777), 1);
	assert_int_equal(day_cache_acquire(c, "shop", 20777, false, &ref, NULL), -ENOENT);
	fixture_remove(dir);
}

static void damage(const char *dir)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/shop", dir);
	(void)mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/shop/2026-11-20.db", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, "no database at all", 18), 18);
	close(fd);
}

static int acquire(struct day_cache *c, bool create, struct err *err)
{
	struct day_ref *ref = NULL;
	int r;

	*err = (struct err){ 0 };
	r = day_cache_acquire(c, "shop", 20777, create, &ref, err);
	if (r == 0)
		day_cache_release(c, ref);
	return r;
}

static void a_damaged_file_is_refused_unchanged_and_reported_once(void **state)
{
	_cleanup_(day_cache_freep) struct day_cache *c = NULL;
	char *dir = fixture_dir(), warning[300] = "", path[300];
	struct err err;

	assert_int_equal(day_cache_new(&c, dir, 0, note, warning), 0);
	damage(dir);
	assert_int_equal(acquire(c, false, &err), -EUCLEAN);
	assert_non_null(strstr(err.msg, "2026-11-20.db"));
	assert_string_equal(warning, err.msg);
	warning[0] = 0;
	assert_int_equal(acquire(c, true, &err), -EUCLEAN);
	assert_string_equal(warning, "");
	assert_true(exists(dir, "shop/2026-11-20.db"));
	/* when it is moved away, a new file begins; nothing is known about the old one */
	snprintf(path, sizeof(path), "%s/shop/2026-11-20.db", dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(acquire(c, true, &err), 0);
	assert_int_equal(acquire(c, false, &err), 0);
	fixture_remove(dir);
}

static void move(const char *dir, const char *from, const char *to)
{
	char a[300], b[300];

	snprintf(a, sizeof(a), "%s/shop/%s", dir, from);
	snprintf(b, sizeof(b), "%s/shop/%s", dir, to);
	assert_int_equal(rename(a, b), 0);
}

/* Before and after a restart, and while the file is open. */
static void a_lost_file_is_reported_until_it_is_back(void **state)
{
	char *dir = fixture_dir(), warning[300] = "";
	struct err err;

	for (int open = 0; open < 2; open++) {
		_cleanup_(day_cache_freep) struct day_cache *c = NULL, *later = NULL;
		struct day_files days = { 0 };

		assert_int_equal(day_cache_new(&c, dir, 0, note, warning), 0);
		assert_int_equal(acquire(c, true, &err), 0);
		if (!open) {
			day_cache_free(c);
			assert_int_equal(day_cache_new(&c, dir, 0, note, warning), 0);
		}
		move(dir, "2026-11-20.db", "away");
		assert_int_equal(acquire(c, false, &err), -EUCLEAN);
		assert_non_null(strstr(err.msg, "deleted"));
		assert_int_equal(day_cache_new(&later, dir, 0, NULL, NULL), 0);
		assert_int_equal(acquire(later, false, &err), -EUCLEAN);
		assert_int_equal(day_cache_days(later, "shop", &days), 0);
		assert_int_equal(days.len, 1);
		day_files_fini(&days);
		move(dir, "away", "2026-11-20.db");
		assert_int_equal(acquire(c, false, &err), 0);
		assert_int_equal(acquire(later, false, &err), 0);
	}
	fixture_remove(dir);
}

/* Neither a push nor a query uses the remaining part of a file, so nothing acknowledged is lost. */
static void a_file_that_is_truncated_while_it_is_open_is_reported(void **state)
{
	_cleanup_(day_cache_freep) struct day_cache *c = NULL;
	char *dir = fixture_dir(), path[300];
	struct stat st;
	struct err err;

	snprintf(path, sizeof(path), "%s/shop/2026-11-20.db", dir);
	assert_int_equal(day_cache_new(&c, dir, 0, NULL, NULL), 0);
	assert_int_equal(acquire(c, true, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size > 0);
	assert_int_equal(truncate(path, st.st_size - 1), 0);
	assert_int_equal(acquire(c, true, &err), -EUCLEAN);
	assert_non_null(strstr(err.msg, "truncated"));
	assert_int_equal(acquire(c, false, &err), -EUCLEAN);
	assert_int_equal(truncate(path, st.st_size), 0);
	assert_int_equal(acquire(c, true, &err), 0);
	fixture_remove(dir);
}

/* Pushes begin a new file; queries fail until somebody accepts the loss. */
static void a_lost_file_may_be_replaced_but_not_forgotten(void **state)
{
	_cleanup_(day_cache_freep) struct day_cache *c = NULL;
	char *dir = fixture_dir();
	struct err err;

	assert_int_equal(day_cache_new(&c, dir, 0, NULL, NULL), 0);
	assert_int_equal(acquire(c, true, &err), 0);
	day_cache_free(c);
	assert_int_equal(day_cache_new(&c, dir, 0, NULL, NULL), 0);
	move(dir, "2026-11-20.db", "away");
	assert_int_equal(acquire(c, true, &err), 0);
	assert_int_equal(acquire(c, false, &err), -EUCLEAN);
	assert_non_null(strstr(err.msg, "replaced"));
	assert_int_equal(day_cache_drop(c, "shop", 20777), 1);
	assert_int_equal(acquire(c, false, &err), -ENOENT);
	fixture_remove(dir);
}

/* Many more days than are kept open can be acquired one after the other, and many at once. */
static void any_number_of_days_can_be_used(void **state)
{
	enum { N = 80 };
	_cleanup_(day_cache_freep) struct day_cache *c = NULL;
	struct day_ref *refs[N], *open[N];
	char *dir = fixture_dir();
	size_t n;

	assert_int_equal(day_cache_new(&c, dir, 1, NULL, NULL), 0);
	for (int i = 0; i < N; i++) {
		assert_int_equal(day_cache_acquire(c, "shop", 20000 + i, true, &refs[i], NULL), 0);
		day_cache_release(c, refs[i]);
	}
	n = day_cache_acquire_open(c, open, N);
	assert_true(n > 0 && n < N);
	for (size_t i = 0; i < n; i++)
		day_cache_release(c, open[i]);
	for (int i = 0; i < N; i++)
		assert_int_equal(day_cache_acquire(c, "shop", 20000 + i, false, &refs[i], NULL), 0);
	assert_int_equal(day_cache_acquire_open(c, open, N), N);
	for (int i = 0; i < N; i++) {
		day_cache_release(c, refs[i]);
		day_cache_release(c, open[i]);
	}
	fixture_remove(dir);
}

/* Queries for any number of tenants leave those alone that have days, open or on disk. */
static void tenants_without_days_are_forgotten(void **state)
{
	_cleanup_(day_cache_freep) struct day_cache *c = NULL;
	struct day_ref *open, *closed, *other = NULL;
	char *dir = fixture_dir();
	char tenant[16];

	assert_int_equal(day_cache_new(&c, dir, 0, NULL, NULL), 0);
	assert_int_equal(day_cache_acquire(c, "open", 20777, true, &open, NULL), 0);
	assert_int_equal(day_cache_acquire(c, "closed", 20777, true, &closed, NULL), 0);
	day_cache_release(c, closed);
	for (int i = 0; i < 3000; i++) {
		struct day_files files = { 0 };

		snprintf(tenant, sizeof(tenant), "t%d", i);
		assert_int_equal(day_cache_acquire(c, tenant, 20777, false, &other, NULL), -ENOENT);
		assert_int_equal(day_cache_days(c, tenant, &files), 0);
		day_files_fini(&files);
		if (i == 1500)
			day_cache_shrink(c, true);
	}
	assert_int_equal(day_files_unlink(dir, "closed", 20777), 0);
	assert_int_equal(day_cache_acquire(c, "closed", 20777, false, &closed, NULL), -EUCLEAN);
	assert_int_equal(day_cache_acquire(c, "open", 20777, false, &other, NULL), 0);
	assert_ptr_equal(day_ref_day(other), day_ref_day(open));
	day_cache_release(c, other);
	day_cache_release(c, open);
	fixture_remove(dir);
}

/* Returns the number of days that are open. */
static size_t count_open(struct day_cache *c)
{
	struct day_ref *open[64];
	size_t n = day_cache_acquire_open(c, open, 64);

	for (size_t i = 0; i < n; i++)
		day_cache_release(c, open[i]);
	return n;
}

static void days_stay_open_while_there_is_memory(void **state)
{
	_cleanup_(day_cache_freep) struct day_cache *c = NULL;
	struct day_ref *ref, *held;
	char *dir = fixture_dir(), tenant[8];

	assert_int_equal(day_cache_new(&c, dir, 0, NULL, NULL), 0);
	for (int i = 0; i < 12; i++) {
		snprintf(tenant, sizeof(tenant), "t%d", i);
		assert_int_equal(day_cache_acquire(c, tenant, 20777, true, &ref, NULL), 0);
		day_cache_release(c, ref);
	}
	assert_int_equal(count_open(c), 12);
	assert_int_equal(day_cache_acquire(c, "t3", 20777, false, &held, NULL), 0);
	day_cache_shrink(c, false);
	assert_int_equal(count_open(c), 12);
	day_cache_shrink(c, true);
	assert_int_equal(count_open(c), 1);
	day_cache_release(c, held);
	assert_int_equal(day_cache_acquire(c, "t5", 20777, false, &ref, NULL), 0);
	day_cache_release(c, ref);
	fixture_remove(dir);
}

struct opener {
	struct day_cache *cache;
	struct day *day;
	pthread_t thread;
};

static void *open_same(void *arg)
{
	struct opener *o = arg;
	struct day_ref *ref;

	assert_int_equal(day_cache_acquire(o->cache, "shop", 20777, true, &ref, NULL), 0);
	o->day = day_ref_day(ref);
	return ref;
}

static void threads_that_need_a_day_at_once_get_the_same(void **state)
{
	_cleanup_(day_cache_freep) struct day_cache *c = NULL;
	struct opener all[8];
	char *dir = fixture_dir();
	void *ref;

	assert_int_equal(day_cache_new(&c, dir, 0, NULL, NULL), 0);
	for (int i = 0; i < 8; i++) {
		all[i].cache = c;
		assert_int_equal(pthread_create(&all[i].thread, NULL, open_same, &all[i]), 0);
	}
	for (int i = 0; i < 8; i++) {
		pthread_join(all[i].thread, &ref);
		assert_ptr_equal(all[i].day, all[0].day);
		day_cache_release(c, ref);
	}
	assert_int_equal(count_open(c), 1);
	fixture_remove(dir);
}

static void a_directory_that_cannot_be_written_is_an_error(void **state)
{
	_cleanup_(day_cache_freep) struct day_cache *c = NULL;
	struct day_ref *ref = NULL;
	struct err err = { 0 };

	assert_int_equal(day_cache_new(&c, "/proc/self", 0, NULL, NULL), 0);
	assert_true(day_cache_acquire(c, "shop", 20777, true, &ref, &err) < 0);
	assert_null(ref);
	assert_non_null(strstr(err.msg, "cannot create \"/proc/self/shop\""));
}

TEST_GROUP(test_day_cache, TEST(a_day_is_opened_once_and_created_only_on_request),
	   TEST(a_day_in_use_is_not_dropped),
	   TEST(a_damaged_file_is_refused_unchanged_and_reported_once),
	   TEST(a_lost_file_is_reported_until_it_is_back),
	   TEST(a_file_that_is_truncated_while_it_is_open_is_reported),
	   TEST(a_lost_file_may_be_replaced_but_not_forgotten),
	   TEST(any_number_of_days_can_be_used), TEST(tenants_without_days_are_forgotten),
	   TEST(days_stay_open_while_there_is_memory),
	   TEST(threads_that_need_a_day_at_once_get_the_same),
	   TEST(a_directory_that_cannot_be_written_is_an_error))
