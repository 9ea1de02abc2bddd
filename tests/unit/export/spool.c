/* SPDX-License-Identifier: Apache-2.0 */
#include "export/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "export/sink.h"
#include "export/spool_item.h"
#include "tests/test.h"

enum { SINK = 7, OTHER = 8, LARGE = 1 << 20 };

static struct spool *open_at(const char *dir, uint64_t max_bytes)
{
	struct spool *s;

	assert_int_equal(spool_open(&s, dir, max_bytes, NULL), 0);
	return s;
}

static char *new_dir(void)
{
	char *dir = strdup("/tmp/cameo-spool-XXXXXX");

	assert_non_null(mkdtemp(dir));
	return dir;
}

static void remove_dir(char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while ((e = readdir(d)))
		if (e->d_name[0] != '.' || e->d_name[1])
			unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	assert_int_equal(rmdir(dir), 0);
	free(dir);
}

static int put(struct spool *s, uint32_t sink, const char *text)
{
	struct export_item i = { .time_ns = 5, .n_profiles = 3 };
	int r;

	buf_put_str(&i.body, text);
	r = spool_put(s, sink, &i);
	buf_fini(&i.body);
	return r;
}

static void assert_next(struct spool *s, uint32_t sink, const char *text)
{
	_cleanup_(export_item_freep) struct export_item *i = NULL;

	assert_int_equal(spool_claim(s, sink, &i), 0);
	assert_int_equal(i->body.len, strlen(text));
	assert_memory_equal(i->body.data, text, strlen(text));
	assert_int_equal(i->n_profiles, 3);
	assert_int_equal(i->time_ns, 5);
	spool_remove(s, sink, i->seq);
}

static void assert_empty(struct spool *s, uint32_t sink)
{
	struct export_item *i;
	struct spool_usage u;

	assert_int_equal(spool_claim(s, sink, &i), -ENOENT);
	spool_usage(s, sink, &u);
	assert_int_equal(u.items, 0);
	assert_int_equal(u.bytes, 0);
}

/* Counts the names in @dir that end in @suffix; @name receives the last one. */
static size_t count_files(const char *dir, const char *suffix, char name[256])
{
	DIR *d = opendir(dir);
	struct dirent *e;
	size_t n = 0;

	while ((e = readdir(d))) {
		size_t len = strlen(e->d_name);

		if (len < strlen(suffix) || strcmp(e->d_name + len - strlen(suffix), suffix) != 0)
			continue;
		snprintf(name, 256, "%s", e->d_name);
		n++;
	}
	closedir(d);
	return n;
}

static void items_are_returned_oldest_first_for_their_sink(void **state)
{
	char *dir = new_dir();
	struct spool *s = open_at(dir, LARGE);

	assert_int_equal(put(s, SINK, "one"), 0);
	assert_int_equal(put(s, OTHER, "other"), 0);
	assert_int_equal(put(s, SINK, "two"), 0);
	assert_next(s, SINK, "one");
	assert_next(s, SINK, "two");
	assert_next(s, OTHER, "other");
	assert_empty(s, SINK);
	spool_close(s);
	remove_dir(dir);
}

static void items_survive_a_restart(void **state)
{
	static const uint32_t sinks[] = { SINK };
	char *dir = new_dir();
	struct spool *s = open_at(dir, LARGE);
	struct export_item *i;

	assert_int_equal(put(s, SINK, "one"), 0);
	assert_int_equal(put(s, OTHER, "other"), 0);
	spool_close(s);
	s = open_at(dir, LARGE);
	assert_int_equal(put(s, SINK, "two"), 0);
	assert_int_equal(spool_n_unconfigured(s, sinks, 1), 1);
	assert_int_equal(spool_claim(s, SINK, &i), 0);
	assert_true(i->born_ns <= (int64_t)clock_ns(CLOCK_BOOTTIME));
	assert_true(i->born_ns > (int64_t)clock_ns(CLOCK_BOOTTIME) - 60LL * CLOCK_SECOND_NS);
	spool_release(s, SINK, i->seq);
	export_item_free(i);
	assert_next(s, SINK, "one");
	assert_next(s, SINK, "two");
	spool_close(s);
	remove_dir(dir);
}

static void an_item_has_only_one_owner(void **state)
{
	char *dir = new_dir();
	struct spool *s = open_at(dir, LARGE), *also = spool_share(s);
	struct export_item *one, *two, *none;
	struct spool_usage u;

	assert_true(spool_is_at(also, dir));
	assert_int_equal(put(s, SINK, "one"), 0);
	assert_int_equal(put(s, SINK, "two"), 0);
	assert_int_equal(spool_claim(s, SINK, &one), 0);
	assert_int_equal(spool_claim(also, SINK, &two), 0);
	assert_true(one->seq < two->seq);
	assert_int_equal(spool_claim(also, SINK, &none), -ENOENT);
	spool_usage(s, SINK, &u);
	assert_int_equal(u.items, 2);
	assert_int_equal(u.unclaimed, 0);
	spool_release(s, SINK, one->seq);
	spool_remove(also, SINK, two->seq);
	spool_close(s);
	assert_next(also, SINK, "one");
	assert_empty(also, SINK);
	export_item_free(one);
	export_item_free(two);
	spool_close(also);
	remove_dir(dir);
}

static void the_oldest_items_are_dropped_beyond_the_limit(void **state)
{
	char *dir = new_dir(), name[256], text[401];
	struct spool *s = open_at(dir, 1000);
	struct spool_usage u;

	memset(text, 'x', 400);
	text[400] = 0;
	for (char c = 'a'; c <= 'e'; c++) {
		text[0] = c;
		assert_int_equal(put(s, c == 'a' ? OTHER : SINK, text), 0);
	}
	spool_usage(s, SINK, &u);
	assert_int_equal(u.evicted, 2);
	assert_int_equal(u.items, 2);
	assert_true(u.bytes > 800 && u.bytes <= 1000);
	spool_usage(s, OTHER, &u);
	assert_int_equal(u.evicted, 1);
	assert_int_equal(count_files(dir, ".item", name), 2);
	text[0] = 'd';
	assert_next(s, SINK, text);
	spool_close(s);
	s = open_at(dir, 100);
	assert_empty(s, SINK);
	spool_usage(s, SINK, &u);
	assert_int_equal(u.evicted, 1);
	spool_close(s);
	remove_dir(dir);
}

static void an_item_larger_than_the_limit_is_refused(void **state)
{
	char *dir = new_dir(), name[256];
	struct spool *s = open_at(dir, 20);

	assert_int_equal(put(s, SINK, "one"), -EFBIG);
	assert_int_equal(count_files(dir, ".item", name), 0);
	spool_close(s);
	remove_dir(dir);
}

static void change_byte(const char *dir, const char *name, off_t at)
{
	char path[512], c;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &c, 1, at), 1);
	c ^= 1;
	assert_int_equal(pwrite(fd, &c, 1, at), 1);
	close(fd);
}

static void a_damaged_file_is_set_aside_and_the_next_is_read(void **state)
{
	char *dir = new_dir(), name[256];
	struct spool *s = open_at(dir, LARGE);
	struct spool_usage u;

	assert_int_equal(put(s, SINK, "one"), 0);
	assert_int_equal(count_files(dir, ".item", name), 1);
	change_byte(dir, name, 33);
	assert_int_equal(put(s, SINK, "two"), 0);
	assert_next(s, SINK, "two");
	spool_usage(s, SINK, &u);
	assert_int_equal(u.damaged, 1);
	assert_int_equal(u.items, 0);
	assert_int_equal(count_files(dir, ".damaged", name), 1);
	spool_close(s);
	remove_dir(dir);
}

static void files_set_aside_do_not_accumulate(void **state)
{
	char *dir = new_dir(), name[256];
	struct spool *s = open_at(dir, LARGE);

	for (int i = 0; i < 20; i++) {
		assert_int_equal(put(s, SINK, "one"), 0);
		assert_int_equal(count_files(dir, ".item", name), 1);
		change_byte(dir, name, 0);
		assert_empty(s, SINK);
	}
	assert_int_equal(count_files(dir, ".damaged", name), 8);
	spool_close(s);
	remove_dir(dir);
}

static void a_removed_file_is_skipped(void **state)
{
	char *dir = new_dir(), name[256], path[512];
	struct spool *s = open_at(dir, LARGE);
	struct spool_usage u;

	assert_int_equal(put(s, SINK, "one"), 0);
	assert_int_equal(put(s, SINK, "two"), 0);
	spool_close(s);
	s = open_at(dir, LARGE);
	while (count_files(dir, ".item", name)) {
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		assert_int_equal(unlink(path), 0);
	}
	assert_empty(s, SINK);
	spool_usage(s, SINK, &u);
	assert_int_equal(u.damaged, 0);
	spool_close(s);
	remove_dir(dir);
}

static void foreign_and_unfinished_files_are_no_items(void **state)
{
	static const char *const names[] = { "notes.txt", "x.item", "00000007-1.item",
					     "00000007-00000000000000zz.item",
					     ".00000007-0000000000000001.item.AbCdEf" };
	char *dir = new_dir(), name[256], path[512];
	struct spool *s;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	}
	s = open_at(dir, LARGE);
	assert_empty(s, SINK);
	assert_int_equal(count_files(dir, ".item", name), 3);
	assert_int_equal(count_files(dir, ".txt", name), 1);
	assert_int_equal(count_files(dir, ".AbCdEf", name), 0);
	spool_close(s);
	remove_dir(dir);
}

static void a_clock_that_was_set_back_does_not_change_the_order(void **state)
{
	char *dir = new_dir(), name[256], from[512], to[512];
	struct spool *s = open_at(dir, LARGE);

	assert_int_equal(put(s, SINK, "future"), 0);
	spool_close(s);
	assert_int_equal(count_files(dir, ".item", name), 1);
	snprintf(from, sizeof(from), "%s/%s", dir, name);
	snprintf(to, sizeof(to), "%s/%08x-%016llx.item", dir, SINK, 0x7000000000000000ULL);
	assert_int_equal(rename(from, to), 0);
	s = open_at(dir, LARGE);
	assert_int_equal(put(s, SINK, "now"), 0);
	spool_close(s);
	s = open_at(dir, LARGE);
	assert_next(s, SINK, "future");
	assert_next(s, SINK, "now");
	spool_close(s);
	remove_dir(dir);
}

static void a_directory_is_private_to_one_process(void **state)
{
	char *dir = new_dir();
	struct spool *s = open_at(dir, LARGE), *t;
	struct err err = { 0 };

	assert_int_equal(spool_open(&t, dir, LARGE, &err), -EBUSY);
	assert_non_null(strstr(err.msg, "in use by another process"));
	spool_close(s);
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(spool_open(&t, dir, LARGE, NULL), -EPERM);
	remove_dir(dir);
	assert_int_equal(spool_open(&t, "/dev/null/x", LARGE, NULL), -ENOTDIR);
}

static void other_files_are_not_mistaken_for_items(void **state)
{
	struct export_item item = { .time_ns = -1, .n_profiles = 3 }, *back = NULL;
	struct buf b = { 0 };

	buf_put_str(&item.body, "some bytes");
	spool_item_write(&item, &b);
	assert_int_equal(spool_item_read(&back, b.data, b.len), 0);
	assert_int_equal(back->time_ns, -1);
	export_item_free(back);
	for (size_t len = 0; len < b.len; len++)
		assert_int_equal(spool_item_read(&back, b.data, len), -EBADMSG);
	for (size_t i = 0; i < b.len; i++) {
		b.data[i] ^= 0x10;
		assert_int_equal(spool_item_read(&back, b.data, b.len), -EBADMSG);
		b.data[i] ^= 0x10;
	}
	buf_put_byte(&b, 0);
	assert_int_equal(spool_item_read(&back, b.data, b.len), -EBADMSG);
	buf_fini(&b);
	buf_fini(&item.body);
}

TEST_GROUP(test_spool, TEST(items_are_returned_oldest_first_for_their_sink),
	   TEST(items_survive_a_restart), TEST(an_item_has_only_one_owner),
	   TEST(the_oldest_items_are_dropped_beyond_the_limit),
	   TEST(an_item_larger_than_the_limit_is_refused),
	   TEST(a_damaged_file_is_set_aside_and_the_next_is_read),
	   TEST(files_set_aside_do_not_accumulate), TEST(a_removed_file_is_skipped),
	   TEST(foreign_and_unfinished_files_are_no_items),
	   TEST(a_clock_that_was_set_back_does_not_change_the_order),
	   TEST(a_directory_is_private_to_one_process),
	   TEST(other_files_are_not_mistaken_for_items))
