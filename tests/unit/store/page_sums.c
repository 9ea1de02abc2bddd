/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/page_sums.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "fixture.h"
#include "flame/merged_stacks.h"
#include "old_format.h"
#include "store/kinds/store_open.h"
#include "store/sqlite/day_files.h"
#include "store/sqlite/db.h"
#include "store/store.h"
#include "tests/test.h"

enum {
	NUMBER = 20778,
	LOG_HEADER_LEN = 32,
	FRAME_LEN = 24 + PAGE_SUMS_PAGE_LEN,
};

/* A day with enough windows for interior pages in its tables, with sums and sample ids. */
static char *make_day(char *path)
{
	char *dir = fixture_dir(), folded[64], id[16];
	struct store *s = fixture_open(dir);

	for (int i = 0; i < 400; i++) {
		snprintf(folded, sizeof(folded), "main;work;f%d 3\nmain;wait 2\n", i);
		snprintf(id, sizeof(id), "id%d", i);
		assert_int_equal(fixture_append(s, i % 2 ? "shop" : "mail", "1",
						NOON + i * 10000000000LL, id, folded),
				 0);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(store_roll_up(s, NOON + DAY / 4, NULL), 0);
	store_close(s);
	day_files_path(dir, "anonymous", NUMBER, path);
	return dir;
}

/* The total of a service in a part of the day, or -1 if the query fails. */
static int64_t total(const char *dir, int64_t start_ns, int64_t end_ns)
{
	struct store_options opt = { .dir = dir };
	static const struct store_type cpu = { "process_cpu", "cpu", "nanoseconds", "cpu",
					       "nanoseconds" };
	_cleanup_(merged_stacks_freep) struct merged_stacks *merged = NULL;
	struct store_select sel = {
		.tenant = "anonymous", .type = &cpu, .start_ns = start_ns, .end_ns = end_ns
	};
	struct store *s = NULL;
	int64_t sum = -1;

	assert_int_equal(store_open(&s, &opt, NULL), 0);
	if (store_merge(s, &sel, &merged, NULL) == 0)
		sum = merged->total;
	store_close(s);
	return sum;
}

static void flip(const char *path, off_t at, int bit)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	unsigned char byte;

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= (unsigned char)(1 << bit);
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static off_t size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

/*
 * Flips bits of each page, mostly in its first bytes, by which SQLite finds cells and other pages.
 * The answers are those of the whole file, or errors; never others.
 */
static void no_flipped_bit_changes_an_answer(void **state)
{
	char path[DAY_FILES_PATH_LEN], *dir = make_day(path);
	int64_t all = total(dir, NOON, NOON + DAY / 4);
	int64_t part = total(dir, NOON, NOON + 1234 * 1000000000LL);
	off_t size = size_of(path);
	int n_reported = 0, n = 0;
	unsigned int seed = 7;

	assert_true(all > 0 && part > 0 && part < all);
	assert_true(size >= 20 * (off_t)PAGE_SUMS_PAGE_LEN);
	for (off_t page = 0; page < size; page += PAGE_SUMS_PAGE_LEN, n++) {
		off_t at = page + rand_r(&seed) % (n % 2 ? 100 : PAGE_SUMS_PAGE_LEN);
		int bit = rand_r(&seed) % 8;
		int64_t got_all, got_part;

		flip(path, at, bit);
		got_all = total(dir, NOON, NOON + DAY / 4);
		got_part = total(dir, NOON, NOON + 1234 * 1000000000LL);
		flip(path, at, bit);
		if ((got_all != all && got_all != -1) || (got_part != part && got_part != -1))
			fail_msg("bit %d of byte %lld: %lld, %lld", bit, (long long)at,
				 (long long)got_all, (long long)got_part);
		n_reported += got_all == -1 || got_part == -1;
	}
	/* Not read are the pages of tables for other queries: ids, keys, times. */
	assert_true(n_reported > n / 4);
	assert_int_equal(total(dir, NOON, NOON + DAY / 4), all);
	fixture_remove(dir);
}

/* Reads every page of a file. */
static int read_all(const char *path)
{
	_cleanup_(db_closep) struct sqlite3 *db = NULL, *copy = NULL;
	sqlite3_backup *b;
	int r = db_open(&db, path, DB_READ, NULL);

	if (r < 0)
		return r;
	assert_int_equal(sqlite3_open(":memory:", &copy), SQLITE_OK);
	b = sqlite3_backup_init(copy, "main", db, "main");
	assert_non_null(b);
	r = sqlite3_backup_step(b, -1);
	sqlite3_backup_finish(b);
	return r == SQLITE_DONE ? 0 : db_error(NULL, r, NULL);
}

/* Bits of each byte of the header, and bytes of all pages. */
static void every_byte_is_verified(void **state)
{
	char path[DAY_FILES_PATH_LEN], *dir = make_day(path);
	off_t size = size_of(path);

	assert_int_equal(read_all(path), 0);
	for (off_t at = 0; at < size; at += at < 100 ? 1 : 1021) {
		int r;

		flip(path, at, (int)(at % 8));
		r = read_all(path);
		if (r != -EBADMSG)
			fail_msg("byte %lld: %d", (long long)at, r);
		flip(path, at, (int)(at % 8));
	}
	fixture_remove(dir);
}

static void a_page_in_the_place_of_another_is_noticed(void **state)
{
	char path[DAY_FILES_PATH_LEN], page[PAGE_SUMS_PAGE_LEN], *dir = make_day(path);
	int fd = open(path, O_RDWR | O_CLOEXEC);

	assert_int_equal(pread(fd, page, sizeof(page), 5 * sizeof(page)), sizeof(page));
	assert_int_equal(pwrite(fd, page, sizeof(page), 6 * sizeof(page)), sizeof(page));
	close(fd);
	assert_int_equal(read_all(path), -EBADMSG);
	fixture_remove(dir);
}

static void header_of(const char *path, unsigned char out[24])
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_int_equal(pread(fd, out, 24, 0), 24);
}

static void append(const char *dir)
{
	struct store *s = fixture_open(dir);

	assert_int_equal(fixture_append(s, "shop", "1", NOON + 1, "late", "main;work 5\n"), 0);
	store_close(s);
}

/* Pages of 8 KiB with 8 reserved bytes are verified, and stay so when the file grows. */
static void large_pages_of_older_files_are_verified_too(void **state)
{
	enum { LARGE = 8192 };
	char path[DAY_FILES_PATH_LEN], *dir = make_day(path);
	int64_t all = total(dir, NOON, NOON + DAY / 4);
	unsigned char header[24];

	header_of(path, header);
	assert_int_equal(header[16] << 8 | header[17], PAGE_SUMS_PAGE_LEN);
	assert_int_equal(header[20], PAGE_SUMS_RESERVED);
	old_format_make(path, DB_FORMAT - 1);
	assert_true(total(dir, NOON, NOON + DAY / 4) == all);
	append(dir);
	assert_true(total(dir, NOON, NOON + DAY / 4) > all);
	header_of(path, header);
	assert_int_equal(header[16] << 8 | header[17], LARGE);
	assert_int_equal(header[20], PAGE_SUMS_LEN);
	for (off_t at = 50, size = size_of(path); at < size; at += LARGE + 1021) {
		assert_int_equal(read_all(path), 0);
		flip(path, at, 2);
		assert_int_equal(read_all(path), -EBADMSG);
		flip(path, at, 2);
	}
	fixture_remove(dir);
}

/* SQLite from 3.45 on reads parts of pages; here they are read with any version. */
static void a_part_of_a_page_is_read_if_all_of_it_is_right(void **state)
{
	const off_t at = 5 * (off_t)PAGE_SUMS_PAGE_LEN;
	char path[DAY_FILES_PATH_LEN], page[PAGE_SUMS_PAGE_LEN], part[1500], *dir = make_day(path);
	_cleanup_(db_closep) struct sqlite3 *db = NULL;
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	sqlite3_file *f = NULL;

	assert_int_equal(pread(fd, page, sizeof(page), at), sizeof(page));
	assert_int_equal(db_open(&db, path, DB_READ, NULL), 0);
	assert_int_equal(sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &f),
			 SQLITE_OK);
	assert_int_equal(f->pMethods->xRead(f, part, sizeof(part), at), SQLITE_OK);
	assert_memory_equal(part, page, sizeof(part));
	assert_int_equal(f->pMethods->xRead(f, part, 100, at + 1800), SQLITE_OK);
	assert_memory_equal(part, page + 1800, 100);
	/* parts of two pages */
	assert_int_equal(f->pMethods->xRead(f, part, sizeof(part), at + 1800), SQLITE_IOERR_DATA);
	/* a bit elsewhere in the page */
	flip(path, at + 50, 3);
	assert_int_equal(f->pMethods->xRead(f, part, 100, at + 1800), SQLITE_IOERR_DATA);
	fixture_remove(dir);
}

static struct sqlite3 *open_new(const char *path)
{
	struct sqlite3 *db = NULL;
	struct err err = { 0 };

	if (db_open(&db, path, DB_WRITE, &err) < 0)
		fail_msg("%s", err.msg);
	return db;
}

static const char fill[] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n"
			   " WHERE i<2000) INSERT INTO blocks(data) SELECT randomblob(1800) FROM n";

static void pages_in_the_log_are_verified(void **state)
{
	char path[300], log[320], *dir = fixture_dir();
	struct sqlite3 *db, *reader = NULL;
	const off_t damage = LOG_HEADER_LEN + 30 * FRAME_LEN + 24 + 1000;
	int64_t n = 0;

	snprintf(path, sizeof(path), "%s/day.db", dir);
	snprintf(log, sizeof(log), "%s-wal", path);
	db = open_new(path);
	assert_int_equal(db_exec(db, "PRAGMA wal_autocheckpoint=0", NULL), 0);
	assert_int_equal(db_exec(db, fill, NULL), 0);
	/* the first frames are of the transaction that created the tables */
	for (off_t at = damage; at < size_of(log); at += 50 * FRAME_LEN) {
		flip(log, at, 3);
		assert_int_equal(db_open(&reader, path, DB_READ, NULL), 0);
		assert_int_equal(
			db_number(reader, "SELECT sum(length(data)) FROM blocks", &n, NULL),
			-EBADMSG);
		db_close(reader);
		flip(log, at, 3);
	}
	/* damage is not copied from the log into the file, where it would get a good checksum */
	flip(log, damage, 3);
	assert_int_equal(db_exec(db, "PRAGMA wal_checkpoint(FULL)", NULL), -EBADMSG);
	flip(log, damage, 3);
	assert_int_equal(db_exec(db, "PRAGMA wal_checkpoint(FULL)", NULL), 0);
	assert_int_equal(db_number(db, "SELECT sum(length(data)) FROM blocks", &n, NULL), 0);
	assert_int_equal(n, 2000 * 1800);
	db_close(db);
	fixture_remove(dir);
}

/*
 * A transaction larger than the cache reads pages that it has written to the log itself. SQLite
 * completes their checksums when it commits.
 */
static void a_large_transaction_reads_its_own_pages(void **state)
{
	char path[300], *dir = fixture_dir();
	struct sqlite3 *db;
	int64_t n = 0;

	snprintf(path, sizeof(path), "%s/day.db", dir);
	db = open_new(path);
	assert_int_equal(db_exec(db, "PRAGMA cache_size=20", NULL), 0);
	for (int round = 0; round < 3; round++) {
		assert_int_equal(db_exec(db, "BEGIN IMMEDIATE", NULL), 0);
		assert_int_equal(db_exec(db, fill, NULL), 0);
		for (int i = 0; i < 3; i++) {
			assert_int_equal(
				db_exec(db, "UPDATE blocks SET data=randomblob(1800)", NULL), 0);
			assert_int_equal(sqlite3_db_cacheflush(db), SQLITE_OK);
		}
		assert_int_equal(db_exec(db, round == 1 ? "ROLLBACK" : "COMMIT", NULL), 0);
	}
	assert_int_equal(db_number(db, "SELECT sum(length(data)) FROM blocks", &n, NULL), 0);
	assert_int_equal(n, 2 * 2000 * 1800);
	db_close(db);
	assert_int_equal(read_all(path), 0);
	fixture_remove(dir);
}

/* A file without reserved bytes is used unmodified. */
static void other_files_have_no_checksums(void **state)
{
	char path[300], *dir = fixture_dir();
	struct sqlite3 *db = NULL;

	snprintf(path, sizeof(path), "%s/day.db", dir);
	assert_int_equal(
		sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "unix"),
		SQLITE_OK);
	assert_int_equal(db_exec(db, "CREATE TABLE t(x)", NULL), 0);
	sqlite3_close(db);
	db = fixture_database(path);
	assert_int_equal(db_exec(db, "INSERT INTO t VALUES (randomblob(100000))", NULL), 0);
	assert_false(page_sums_enabled(db));
	sqlite3_close(db);
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, "unix"), SQLITE_OK);
	assert_int_equal(db_exec(db, "PRAGMA integrity_check", NULL), 0);
	sqlite3_close(db);
	fixture_remove(dir);
}

static uint8_t *contents(const char *path, size_t *out_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t *data;

	*out_len = (size_t)size_of(path);
	data = malloc(*out_len);
	assert_int_equal(pread(fd, data, *out_len, 0), *out_len);
	close(fd);
	return data;
}

static void overwrite(const char *path, const uint8_t *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_int_equal(pwrite(fd, data, len, 0), len);
	close(fd);
}

static int read_table(struct sqlite3 *db)
{
	return db_exec(db, "PRAGMA shrink_memory; SELECT sum(length(hex(x))) FROM t", NULL);
}

/* All checksums of an older copy are right, but it is not what the process has written. */
static void an_older_copy_is_noticed(void **state)
{
	static const char put[] = "INSERT OR REPLACE INTO t VALUES(1, randomblob(100000));"
				  "PRAGMA wal_checkpoint(TRUNCATE)";
	struct sqlite3 *db = NULL, *reader = NULL;
	char path[DAY_FILES_PATH_LEN], *dir = make_day(path);
	_cleanup_(freep) uint8_t *old = NULL, *now = NULL;
	size_t old_len, len;

	assert_int_equal(db_open(&db, path, DB_WRITE, NULL), 0);
	assert_int_equal(db_exec(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, x)", NULL), 0);
	for (int i = 0; i < 3; i++) /* then each uses the pages that the one before freed */
		assert_int_equal(db_exec(db, put, NULL), 0);
	old = contents(path, &old_len);
	assert_int_equal(db_exec(db, put, NULL), 0);
	now = contents(path, &len);
	assert_int_equal(len, old_len);
	overwrite(path, old, len);
	assert_int_equal(read_table(db), -EBADMSG);
	assert_int_equal(db_open(&reader, path, DB_READ, NULL), -EBADMSG);
	overwrite(path, now, len);
	assert_int_equal(read_table(db), 0);
	assert_int_equal(db_open(&reader, path, DB_READ, NULL), 0);
	assert_int_equal(read_table(reader), 0);
	assert_int_equal(db_exec(db, put, NULL), 0);
	assert_int_equal(read_table(reader), 0);
	assert_int_equal(
		db_exec(db, "DELETE FROM t; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)", NULL), 0);
	assert_int_equal(db_exec(db, put, NULL), 0);
	assert_int_equal(read_table(reader), 0);
	db_close(reader);
	db_close(db);
	fixture_remove(dir);
}

TEST_GROUP(test_page_sums, TEST(no_flipped_bit_changes_an_answer), TEST(every_byte_is_verified),
	   TEST(large_pages_of_older_files_are_verified_too),
	   TEST(a_page_in_the_place_of_another_is_noticed),
	   TEST(a_part_of_a_page_is_read_if_all_of_it_is_right),
	   TEST(pages_in_the_log_are_verified), TEST(a_large_transaction_reads_its_own_pages),
	   TEST(other_files_have_no_checksums), TEST(an_older_copy_is_noticed))
