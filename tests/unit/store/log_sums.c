/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of a file with its log, as a process leaves them that is killed. */
#include "store/sqlite/log_sums.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/err.h"
#include "fixture.h"
#include "store/sqlite/db.h"
#include "store/sqlite/page_sums.h"
#include "tests/test.h"

enum {
	N_COMMITS = 6,
	FRAME_LEN = LOG_SUMS_FRAME_HEADER_LEN + PAGE_SUMS_PAGE_LEN,
	MAX_LOG = 4 << 20
};

struct place {
	char *dir, file[300], log[300];
	uint8_t *content[2]; /* of the file and of the log */
	size_t len[2];
};

static uint8_t *load(const char *path, size_t *out_len)
{
	uint8_t *data = malloc(MAX_LOG);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, data, MAX_LOG);

	assert_true(data && fd >= 0 && n >= 0 && n < MAX_LOG);
	*out_len = (size_t)n;
	close(fd);
	return data;
}

static void save(const char *path, const uint8_t *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0 && write(fd, data, len) == (ssize_t)len);
	close(fd);
}

/* Transactions of several pages each; @end is run before the process is killed. */
static void place_init(struct place *at, const char *end)
{
	char path[300], log[310];
	struct sqlite3 *db = NULL;

	at->dir = fixture_dir();
	snprintf(at->file, sizeof(at->file), "%s/killed.db", at->dir);
	snprintf(at->log, sizeof(at->log), "%s/killed.db-wal", at->dir);
	snprintf(path, sizeof(path), "%s/day.db", at->dir);
	snprintf(log, sizeof(log), "%s-wal", path);
	assert_int_equal(db_open(&db, path, DB_WRITE, NULL), 0);
	db_close(db);
	assert_int_equal(db_open(&db, path, DB_WRITE, NULL), 0);
	assert_int_equal(db_exec(db, "PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=10", NULL), 0);
	for (int i = 0; i < N_COMMITS; i++)
		assert_int_equal(db_exec(db,
					 "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1"
					 " FROM n WHERE i<12) INSERT INTO blocks(data)"
					 " SELECT randomblob(5000) FROM n",
					 NULL),
				 0);
	if (end)
		assert_int_equal(db_exec(db, end, NULL), 0);
	at->content[0] = load(path, &at->len[0]);
	at->content[1] = load(log, &at->len[1]);
	db_close(db);
}

static void place_fini(struct place *at)
{
	free(at->content[0]);
	free(at->content[1]);
	fixture_remove(at->dir);
}

/* Rows after the log has been recovered, or -errno. */
static int64_t recover(const struct place *at)
{
	struct sqlite3 *db = NULL;
	char index[310];
	int64_t n = 0;
	int r;

	snprintf(index, sizeof(index), "%s/killed.db-shm", at->dir);
	(void)unlink(index);
	save(at->file, at->content[0], at->len[0]);
	save(at->log, at->content[1], at->len[1]);
	r = db_open(&db, at->file, DB_READ, NULL);
	if (r == 0)
		r = db_number(db, "SELECT count(*) FROM blocks", &n, NULL);
	db_close(db);
	return r < 0 ? r : n;
}

static uint8_t *frame(const struct place *at, size_t i)
{
	return at->content[1] + LOG_SUMS_HEADER_LEN + i * FRAME_LEN;
}

static size_t n_frames(const struct place *at)
{
	return (at->len[1] - LOG_SUMS_HEADER_LEN) / FRAME_LEN;
}

static bool is_commit(const struct place *at, size_t i)
{
	const uint8_t *p = frame(at, i) + 4;

	return p[0] | p[1] | p[2] | p[3];
}

/* The first frame after the last but @back commits. */
static size_t after_commit(const struct place *at, int back)
{
	size_t i = n_frames(at);

	while (i-- > 0)
		if (is_commit(at, i) && back-- == 0)
			return i + 1;
	return 0;
}

static void damage_in_front_of_later_commits_is_noticed(void **state)
{
	struct place at;
	size_t last;

	place_init(&at, NULL);
	assert_int_equal(recover(&at), N_COMMITS * 12);
	last = after_commit(&at, 1);
	for (size_t i = 0; i < last; i++)
		for (size_t k = 9; k < FRAME_LEN; k += 1500) {
			frame(&at, i)[k] ^= 4;
			assert_int_equal(recover(&at), -EBADMSG);
			frame(&at, i)[k] ^= 4;
		}
	for (size_t k = 0; k < LOG_SUMS_HEADER_LEN; k++) {
		at.content[1][k] ^= 4;
		assert_int_equal(recover(&at), -EBADMSG);
		at.content[1][k] ^= 4;
	}
	assert_int_equal(recover(&at), N_COMMITS * 12);
	place_fini(&at);
}

/* A loss of power may leave any part of the last transaction. */
static void an_incomplete_last_transaction_is_undone(void **state)
{
	struct place at;
	size_t begin, n;

	place_init(&at, NULL);
	begin = after_commit(&at, 1);
	n = n_frames(&at);
	for (size_t i = begin; i < n; i++) {
		frame(&at, i)[1000] ^= 1;
		assert_int_equal(recover(&at), (N_COMMITS - 1) * 12);
		frame(&at, i)[1000] ^= 1;
	}
	at.len[1] -= FRAME_LEN / 2;
	assert_int_equal(recover(&at), (N_COMMITS - 1) * 12);
	place_fini(&at);
}

/* Frames that were written and rolled back are overwritten by a shorter transaction. */
static void leftovers_of_a_rollback_are_no_damage(void **state)
{
	struct place at;
	size_t n;

	place_init(&at,
		   "BEGIN IMMEDIATE; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1"
		   " FROM n WHERE i<300) INSERT INTO blocks(data) SELECT randomblob(5000) FROM n;"
		   "ROLLBACK; INSERT INTO blocks(data) VALUES (randomblob(50000))");
	n = after_commit(&at, 0);
	assert_true(n_frames(&at) > n + 20);
	assert_int_equal(recover(&at), N_COMMITS * 12 + 1);
	frame(&at, n - 2)[1000] ^= 1;
	assert_int_equal(recover(&at), N_COMMITS * 12);
	place_fini(&at);
}

/* After a checkpoint the log begins again in front of frames with other salts. */
static void frames_of_before_a_checkpoint_are_no_damage(void **state)
{
	struct place at;

	place_init(&at, "PRAGMA wal_checkpoint(RESTART);"
			"INSERT INTO blocks(data) VALUES (randomblob(50000));"
			"INSERT INTO blocks(data) VALUES (randomblob(50000))");
	assert_int_equal(recover(&at), N_COMMITS * 12 + 2);
	frame(&at, 1)[1000] ^= 1;
	assert_int_equal(recover(&at), -EBADMSG);
	place_fini(&at);
}

TEST_GROUP(test_log_sums, TEST(damage_in_front_of_later_commits_is_noticed),
	   TEST(an_incomplete_last_transaction_is_undone),
	   TEST(leftovers_of_a_rollback_are_no_damage),
	   TEST(frames_of_before_a_checkpoint_are_no_damage))
