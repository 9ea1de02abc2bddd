/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One day's file below the store: transactions, savepoints, and queries, which are compared with a
 * list of what was committed.
 *
 * covers: src/store/sqlite/day_query.c
 */
#include "store/sqlite/day.h"
#include "store/sqlite/day_query.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <time.h>

#include <sqlite3.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "fixture.h"
#include "flame/merged_stacks.h"
#include "old_format.h"
#include "profile/profile.h"
#include "store/intern.h"
#include "store/matcher.h"
#include "store/sqlite/db.h"
#include "store/window.h"
#include "tests/test.h"

#define SECOND 1000000000LL

static const struct store_type cpu = { "process_cpu", "cpu", "nanoseconds", "cpu", "nanoseconds" };

struct place {
	char *dir, path[300];
	struct day *day;
};

static void open_day(struct place *at)
{
	struct err err = { 0 };

	at->day = NULL;
	if (day_open(&at->day, at->path, true, &err) < 0)
		fail_msg("%s", err.msg);
}

static void place_init(struct place *at)
{
	at->dir = fixture_dir();
	snprintf(at->path, sizeof(at->path), "%s/day.db", at->dir);
	open_day(at);
}

static void place_fini(struct place *at)
{
	day_close(at->day);
	fixture_remove(at->dir);
}

static int append(struct place *at, const char *service, int64_t time_ns, const char *id,
		  const char *folded)
{
	_cleanup_(profile_freep) struct profile *p = fixture_profile(folded);
	const struct store_label label = { "service_name", service };
	const struct store_profile sp = { .name = "process_cpu",
					  .labels = &label,
					  .n_labels = 1,
					  .time_ns = time_ns,
					  .id = id,
					  .id_time_ns = time_ns,
					  .profile = p };
	struct intern_keys keys = { 0 };
	int r;

	assert_int_equal(intern_keys_build(&keys, p), 0);
	r = day_append(at->day, &sp, &keys, NULL);
	intern_keys_fini(&keys);
	return r;
}

/* A query of one service, or of all if it is NULL. */
struct query {
	struct store_select sel;
	struct matcher *matcher;
};

static void query_init(struct query *q, const char *service, int64_t start_ns, int64_t end_ns)
{
	*q = (struct query){
		.sel = { .tenant = "t", .type = &cpu, .start_ns = start_ns, .end_ns = end_ns }
	};
	if (service)
		assert_int_equal(
			matcher_new(&q->matcher, MATCHER_EQ, "service_name", service, NULL), 0);
	q->sel.n_matchers = service != NULL;
}

static void query_fini(struct query *q)
{
	matcher_free(q->matcher);
}

/* The sum in samples of 10 ms, by day_query_merge(). */
static int64_t total(struct place *at, const char *service, int64_t start_ns, int64_t end_ns)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *s = NULL;
	_cleanup_(query_fini) struct query q;

	query_init(&q, service, start_ns, end_ns);
	q.sel.matchers = &q.matcher;
	assert_int_equal(merged_stacks_new(&s), 0);
	assert_int_equal(day_query_merge(day_state(at->day), &q.sel, s, NULL), 0);
	return s->total / 10000000;
}

static int64_t all(struct place *at)
{
	return total(at, NULL, 0, INT64_MAX);
}

static void a_profile_is_visible_after_the_commit(void **state)
{
	_cleanup_(place_fini) struct place at;
	int64_t first = 0, last = 0;

	place_init(&at);
	assert_int_equal(day_span(at.day, &first, &last), -ENOENT);
	assert_int_equal(day_begin(at.day, NULL), 0);
	assert_int_equal(append(&at, "shop", NOON, NULL, "main 3\n"), 0);
	assert_int_equal(append(&at, "shop", NOON + 5, NULL, "main 4\n"), 0);
	assert_int_equal(all(&at), 0);
	assert_int_equal(day_commit(at.day, NULL), 0);
	assert_int_equal(all(&at), 7);
	assert_int_equal(day_span(at.day, &first, &last), 0);
	assert_int_equal(first, NOON);
	assert_int_equal(last, NOON + 5);
	day_close(at.day);
	open_day(&at);
	assert_int_equal(all(&at), 7);
	assert_int_equal(day_span(at.day, &first, &last), 0);
	assert_int_equal(last, NOON + 5);
}

static void a_rollback_leaves_nothing_but_later_commits_are_whole(void **state)
{
	_cleanup_(place_fini) struct place at;

	place_init(&at);
	assert_int_equal(day_begin(at.day, NULL), 0);
	assert_int_equal(append(&at, "shop", NOON, NULL, "main;gone 3\n"), 0);
	day_rollback(at.day);
	assert_int_equal(all(&at), 0);
	/* the dictionary in memory knows the stack, the file does not yet */
	assert_int_equal(day_begin(at.day, NULL), 0);
	assert_int_equal(append(&at, "shop", NOON, NULL, "main;gone 5\nmain;new 1\n"), 0);
	assert_int_equal(day_commit(at.day, NULL), 0);
	day_close(at.day);
	open_day(&at);
	assert_int_equal(all(&at), 6);
}

static void a_savepoint_is_rolled_back_alone(void **state)
{
	_cleanup_(place_fini) struct place at;

	place_init(&at);
	assert_int_equal(day_begin(at.day, NULL), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(day_savepoint_begin(at.day, NULL), 0);
		assert_int_equal(
			append(&at, "shop", NOON + i, NULL, i % 2 ? "odd 100\n" : "even 1\n"), 0);
		assert_int_equal(day_savepoint_end(at.day, i % 2 == 0, NULL), 0);
	}
	assert_int_equal(day_commit(at.day, NULL), 0);
	assert_int_equal(all(&at), 2);
	assert_int_equal(total(&at, NULL, NOON + 1, NOON + 1), 0);
	assert_int_equal(total(&at, NULL, NOON + 2, NOON + 2), 1);
}

static void an_id_counts_once_even_after_it_was_rolled_back(void **state)
{
	_cleanup_(place_fini) struct place at;

	place_init(&at);
	assert_int_equal(day_begin(at.day, NULL), 0);
	assert_int_equal(append(&at, "shop", NOON, "x", "main 1\n"), 0);
	day_rollback(at.day);
	for (int round = 0; round < 3; round++) {
		assert_int_equal(day_begin(at.day, NULL), 0);
		assert_int_equal(append(&at, "shop", NOON, "x", "main 1\n"), 0);
		assert_int_equal(append(&at, "mail", NOON, "x", "main 10\n"), 0);
		assert_int_equal(day_commit(at.day, NULL), 0);
		assert_int_equal(all(&at), 11);
		day_close(at.day);
		open_day(&at);
	}
}

/* Adds the key of a profile of append() as older versions stored it. */
static void put_old_key(struct place *at, const char *service, int64_t time_ns, const char *id)
{
	const struct store_label label = { "service_name", service };
	const struct store_profile p = { .name = "process_cpu",
					 .labels = &label,
					 .n_labels = 1,
					 .id = id,
					 .id_time_ns = time_ns };
	sqlite3 *db = fixture_database(at->path);
	uint8_t key[WINDOW_KEY_LEN];
	sqlite3_stmt *put = NULL;

	window_profile_key(&p, key);
	assert_int_equal(db_prepare(db, "INSERT INTO profiles VALUES(?)", &put, NULL), 0);
	sqlite3_bind_blob(put, 1, key, sizeof(key), SQLITE_STATIC);
	assert_int_equal(db_step(db, put, NULL), 0);
	db_finalize(put);
	sqlite3_close(db);
}

/* A file of format 5 has keys in no order of time, and gets ordered ones in addition. */
static void an_id_of_an_older_version_counts_once(void **state)
{
	_cleanup_(place_fini) struct place at;

	place_init(&at);
	assert_int_equal(day_begin(at.day, NULL), 0);
	assert_int_equal(append(&at, "shop", NOON, NULL, "main 1\n"), 0);
	assert_int_equal(day_commit(at.day, NULL), 0);
	day_close(at.day);
	put_old_key(&at, "shop", NOON, "x");
	old_format_make(at.path, DB_FORMAT - 1);
	for (int round = 0; round < 3; round++) {
		open_day(&at);
		assert_int_equal(day_begin(at.day, NULL), 0);
		assert_int_equal(append(&at, "shop", NOON, "x", "main 100\n"), 0);
		assert_int_equal(append(&at, "shop", NOON, "y", "main 10\n"), 0);
		assert_int_equal(day_commit(at.day, NULL), 0);
		assert_int_equal(all(&at), 11);
		day_close(at.day);
	}
	open_day(&at);
}

enum { N_WINDOWS = 60 };

struct window {
	int64_t time_ns, samples;
	int service;
};

struct points {
	int64_t sum, last_ns;
	int n_series, n_points;
};

static int on_series(void *ctx, const struct store_label *labels, size_t n)
{
	struct points *p = ctx;

	p->n_series++;
	p->last_ns = INT64_MIN;
	return 0;
}

static int on_point(void *ctx, const struct store_point *point)
{
	struct points *p = ctx;

	assert_true(point->time_ns > p->last_ns);
	p->last_ns = point->time_ns;
	p->sum += point->value / 10000000;
	p->n_points++;
	return 0;
}

/* Compares each kind of query with the list of windows. */
static void assert_queries(struct place *at, const struct window *w, int service, int64_t start,
			   int64_t end)
{
	char name[8];
	_cleanup_(query_fini) struct query q;
	struct points got = { 0 };
	int64_t sum = 0;
	int n = 0;

	for (int i = 0; i < N_WINDOWS; i++) {
		if (w[i].service != service || w[i].time_ns < start || w[i].time_ns > end)
			continue;
		sum += w[i].samples;
		n++;
	}
	snprintf(name, sizeof(name), "s%d", service % 10);
	assert_int_equal(total(at, name, start, end), sum);
	query_init(&q, name, start, end);
	q.sel.matchers = &q.matcher;
	assert_int_equal(
		day_query_points(day_state(at->day), &q.sel, on_series, on_point, &got, NULL), 0);
	assert_int_equal(got.n_points, n);
	assert_int_equal(got.sum, sum);
	got.n_series = 0;
	assert_int_equal(day_query_series(day_state(at->day), &q.sel, on_series, &got, NULL), 0);
	assert_int_equal(got.n_series, n > 0);
}

static void queries_return_all_that_was_committed(void **state)
{
	_cleanup_(place_fini) struct place at;
	struct window w[N_WINDOWS];
	unsigned int seed = 1;

	place_init(&at);
	for (int i = 0; i < N_WINDOWS; i++) {
		char folded[100], name[8];

		w[i] = (struct window){ NOON + (i * 37 % N_WINDOWS) * SECOND,
					rand_r(&seed) % 50 + 1, rand_r(&seed) % 3 };
		snprintf(folded, sizeof(folded), "main;f%d %d\n", rand_r(&seed) % 10,
			 (int)w[i].samples);
		snprintf(name, sizeof(name), "s%d", w[i].service % 10);
		assert_int_equal(day_begin(at.day, NULL), 0);
		assert_int_equal(append(&at, name, w[i].time_ns, NULL, folded), 0);
		assert_int_equal(day_commit(at.day, NULL), 0);
	}
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 40; i++) {
			int64_t start = NOON + rand_r(&seed) % N_WINDOWS * SECOND;

			assert_queries(&at, w, rand_r(&seed) % 3, start,
				       start + rand_r(&seed) % 30 * SECOND);
		}
		assert_queries(&at, w, 1, 0, INT64_MAX);
		assert_queries(&at, w, 7, 0, INT64_MAX);
		day_close(at.day);
		open_day(&at);
	}
}

static int stop(void *ctx, const struct store_point *point)
{
	return -ECANCELED;
}

static void a_query_ends_at_its_deadline_or_when_a_callback_says_so(void **state)
{
	_cleanup_(place_fini) struct place at;
	_cleanup_(merged_stacks_freep) struct merged_stacks *s = NULL;
	_cleanup_(query_fini) struct query q;
	struct points got = { 0 };

	place_init(&at);
	assert_int_equal(day_begin(at.day, NULL), 0);
	assert_int_equal(append(&at, "shop", NOON, NULL, "main 1\n"), 0);
	assert_int_equal(day_commit(at.day, NULL), 0);
	query_init(&q, NULL, 0, INT64_MAX);
	assert_int_equal(day_query_points(day_state(at.day), &q.sel, on_series, stop, &got, NULL),
			 -ECANCELED);
	q.sel.deadline_ns = 1; /* long ago */
	assert_int_equal(merged_stacks_new(&s), 0);
	assert_int_equal(day_query_merge(day_state(at.day), &q.sel, s, NULL), -ETIMEDOUT);
}

static void run_sql(const struct place *at, const char *sql)
{
	sqlite3 *db = fixture_database(at->path);

	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* A damaged block fails the queries that read it, a damaged dictionary the whole day. */
static void damage_is_reported(void **state)
{
	_cleanup_(place_fini) struct place at;
	_cleanup_(merged_stacks_freep) struct merged_stacks *s = NULL;
	_cleanup_(query_fini) struct query q;
	struct day *day = NULL;
	struct err err = { 0 };

	place_init(&at);
	assert_int_equal(day_begin(at.day, NULL), 0);
	assert_int_equal(append(&at, "shop", NOON, NULL, "main 1\n"), 0);
	assert_int_equal(append(&at, "mail", NOON + SECOND, NULL, "main 2\n"), 0);
	assert_int_equal(day_commit(at.day, NULL), 0);
	day_close(at.day);
	run_sql(&at,
		"UPDATE blocks SET data = x'ffffffff' WHERE id = (SELECT max(id) FROM blocks)");
	open_day(&at);
	query_init(&q, NULL, 0, INT64_MAX);
	assert_int_equal(merged_stacks_new(&s), 0);
	assert_int_equal(day_query_merge(day_state(at.day), &q.sel, s, &err), -EBADMSG);
	assert_int_equal(total(&at, "shop", 0, INT64_MAX), 1);
	day_close(at.day);
	at.day = NULL;
	run_sql(&at, "DELETE FROM chunks WHERE kind = 1");
	assert_int_equal(day_open(&day, at.path, false, &err), -EBADMSG);
	assert_null(day);
}

static long file_len(const char *path, char *out, size_t room)
{
	FILE *f = fopen(path, "re");
	size_t n;

	assert_non_null(f);
	n = fread(out, 1, room, f);
	fclose(f);
	return (long)n;
}

/* Any change of a stored value is noticed, also one that leaves a valid block. */
static void a_changed_blob_is_noticed(void **state)
{
	static const char *const changes[] = {
		"UPDATE windows SET head = CAST(x'7f' || substr(head, 2) AS BLOB)",
		"UPDATE blocks SET data = CAST(substr(data, 1, 3) || x'7e' || substr(data, 5) AS "
		"BLOB)",
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		_cleanup_(place_fini) struct place at;
		_cleanup_(merged_stacks_freep) struct merged_stacks *s = NULL;
		_cleanup_(query_fini) struct query q;
		struct err err = { 0 };

		place_init(&at);
		assert_int_equal(day_begin(at.day, NULL), 0);
		assert_int_equal(append(&at, "shop", NOON, NULL, "main 1\nother 5\n"), 0);
		assert_int_equal(day_commit(at.day, NULL), 0);
		day_close(at.day);
		run_sql(&at, changes[i]);
		open_day(&at);
		query_init(&q, NULL, 0, INT64_MAX);
		assert_int_equal(merged_stacks_new(&s), 0);
		assert_int_equal(day_query_merge(day_state(at.day), &q.sel, s, &err), -EBADMSG);
	}
}

static void missing_windows_are_noticed_and_the_file_is_unchanged(void **state)
{
	static char before[1 << 20], after[1 << 20];
	_cleanup_(place_fini) struct place at;
	struct day *day = NULL;
	struct err err = { 0 };
	long len;

	place_init(&at);
	assert_int_equal(day_begin(at.day, NULL), 0);
	assert_int_equal(append(&at, "shop", NOON, NULL, "main 1\n"), 0);
	assert_int_equal(append(&at, "mail", NOON, NULL, "main 2\n"), 0);
	assert_int_equal(day_commit(at.day, NULL), 0);
	assert_int_equal(day_n_windows(at.day), 2);
	day_close(at.day);
	at.day = NULL;
	run_sql(&at, "DELETE FROM windows WHERE block = 1");
	len = file_len(at.path, before, sizeof(before));
	assert_int_equal(day_open(&day, at.path, true, &err), -EBADMSG);
	assert_string_equal(err.msg, "it has 1 of 2 windows");
	assert_int_equal(file_len(at.path, after, sizeof(after)), len);
	assert_memory_equal(before, after, (size_t)len);
}

static void a_missing_or_empty_file_is_created_on_request_only(void **state)
{
	_cleanup_(place_fini) struct place at;
	struct day *day = NULL;
	FILE *f;

	place_init(&at);
	snprintf(at.path, sizeof(at.path), "%s/other.db", at.dir);
	assert_int_equal(day_open(&day, at.path, false, NULL), -ENOENT);
	f = fopen(at.path, "we");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(day_open(&day, at.path, false, NULL), -ENOENT);
	assert_int_equal(day_open(&day, at.path, true, NULL), 0);
	day_close(day);
	assert_int_equal(day_open(&day, at.path, false, NULL), 0);
	day_close(day);
}

/* A file of format 1 has neither checksums nor an identity. */
static void a_file_of_the_first_format_is_read_and_extended(void **state)
{
	static const struct db_identity none;
	_cleanup_(place_fini) struct place at;

	place_init(&at);
	day_close(at.day);
	old_format_make(at.path, 1);
	open_day(&at);
	assert_memory_equal(day_identity(at.day), &none, sizeof(none));
	assert_int_equal(day_begin(at.day, NULL), 0);
	assert_int_equal(append(&at, "shop", NOON, NULL, "main 3\n"), 0);
	assert_int_equal(day_commit(at.day, NULL), 0);
	day_close(at.day);
	open_day(&at);
	assert_int_equal(total(&at, NULL, 0, INT64_MAX), 3);
}

static void a_full_dictionary_accepts_only_known_stacks(void **state)
{
	struct place at;
	char folded[64];
	int r = 0, n = 0;

	place_init(&at);
	day_limit(at.day, 1 << 20);
	assert_int_equal(day_begin(at.day, NULL), 0);
	for (; r == 0 && n < 1 << 20; n++) {
		snprintf(folded, sizeof(folded), "main;f%d 1", n);
		r = append(&at, "shop", NOON, NULL, folded);
	}
	assert_int_equal(r, -ENOBUFS);
	assert_true(day_bytes(at.day) >= 1 << 20);
	assert_int_equal(append(&at, "shop", NOON, NULL, "main;f0 1"), 0);
	assert_int_equal(append(&at, "other", NOON, NULL, "main;f0 1"), -ENOBUFS);
	assert_int_equal(day_commit(at.day, NULL), 0);
	day_close(at.day);
	open_day(&at);
	assert_int_equal(total(&at, "shop", 0, INT64_MAX), n);
	place_fini(&at);
}

static void a_query_ends_when_it_is_canceled(void **state)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *s = NULL;
	_cleanup_(query_fini) struct query q;
	atomic_bool cancelled = true;
	struct place at;

	place_init(&at);
	assert_int_equal(day_begin(at.day, NULL), 0);
	assert_int_equal(append(&at, "shop", NOON, NULL, "main 1"), 0);
	assert_int_equal(day_commit(at.day, NULL), 0);
	query_init(&q, NULL, 0, INT64_MAX);
	q.sel.cancelled = &cancelled;
	assert_int_equal(merged_stacks_new(&s), 0);
	assert_int_equal(day_query_merge(day_state(at.day), &q.sel, s, NULL), -ECANCELED);
	cancelled = false;
	assert_int_equal(day_query_merge(day_state(at.day), &q.sel, s, NULL), 0);
	place_fini(&at);
}

/* ---- a query that stands still ---------------------------------------------------- */

enum { STOPS = 20, STOPS_IN_LIBRARIES = STOPS / 4, HELD_SECONDS = 2, N_STACKS = 20000 };

static sem_t stopped, appended, resumed;
static atomic_bool over;

/* The thread of the query stands still here, as if the scheduler had interrupted it. */
static void stand_still(int sig)
{
	int before = errno;

	sem_post(&stopped);
	while (sem_wait(&resumed) < 0)
		;
	errno = before;
}

static void *query_all(void *arg)
{
	while (!over)
		all(arg);
	return NULL;
}

/* Lets the query continue after the append, or without it after a while: then it was held up. */
static void *resume(void *arg)
{
	int *n_held = arg;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += HELD_SECONDS;
	if (sem_timedwait(&appended, &until) < 0) {
		*n_held += 1;
		sem_post(&resumed);
		sem_wait(&appended);
	} else {
		sem_post(&resumed);
	}
	return NULL;
}

static void append_new_stacks(struct place *at, int round, int n)
{
	_cleanup_(buf_fini) struct buf folded = { 0 };

	for (int i = 0; i < n; i++)
		buf_printf(&folded, "main;f%d;g%d_%d 1\n", i % 100, round, i);
	buf_put_byte(&folded, 0);
	assert_int_equal(buf_error(&folded), 0);
	assert_int_equal(day_begin(at->day, NULL), 0);
	assert_int_equal(append(at, "shop", NOON + round, NULL, (const char *)folded.data), 0);
	assert_int_equal(day_commit(at->day, NULL), 0);
}

/*
 * Queries have a lower priority than pushes. The thread of a query is stopped at random places; a
 * push waits for it only where SQLite or the allocator hold a lock of their own for a moment.
 */
static void a_query_that_stands_still_holds_up_no_push(void **state)
{
	struct sigaction act = { .sa_handler = stand_still, .sa_flags = SA_RESTART }, before;
	_cleanup_(place_fini) struct place at;
	pthread_t query, rescuer;
	int n_held = 0;

	place_init(&at);
	append_new_stacks(&at, 0, N_STACKS);
	sem_init(&stopped, 0, 0);
	sem_init(&appended, 0, 0);
	sem_init(&resumed, 0, 0);
	over = false;
	sigaction(SIGUSR1, &act, &before);
	assert_int_equal(pthread_create(&query, NULL, query_all, &at), 0);
	for (int round = 1; round <= STOPS; round++) {
		const struct timespec pause = { .tv_nsec = 1000000L + round * 777777L % 20000000L };

		nanosleep(&pause, NULL);
		pthread_kill(query, SIGUSR1);
		while (sem_wait(&stopped) < 0)
			;
		assert_int_equal(pthread_create(&rescuer, NULL, resume, &n_held), 0);
		append_new_stacks(&at, round, 100);
		sem_post(&appended);
		pthread_join(rescuer, NULL);
	}
	over = true;
	pthread_join(query, NULL);
	sigaction(SIGUSR1, &before, NULL);
	assert_in_range(n_held, 0, STOPS_IN_LIBRARIES);
	assert_int_equal(all(&at), N_STACKS + STOPS * 100);
}

TEST_GROUP(test_day, TEST(a_query_that_stands_still_holds_up_no_push),
	   TEST(a_full_dictionary_accepts_only_known_stacks),
	   TEST(a_query_ends_when_it_is_canceled), TEST(a_changed_blob_is_noticed),
	   TEST(missing_windows_are_noticed_and_the_file_is_unchanged),
	   TEST(a_missing_or_empty_file_is_created_on_request_only),
	   TEST(a_file_of_the_first_format_is_read_and_extended),
	   TEST(a_profile_is_visible_after_the_commit),
	   TEST(a_rollback_leaves_nothing_but_later_commits_are_whole),
	   TEST(a_savepoint_is_rolled_back_alone),
	   TEST(an_id_counts_once_even_after_it_was_rolled_back),
	   TEST(an_id_of_an_older_version_counts_once), TEST(queries_return_all_that_was_committed),
	   TEST(a_query_ends_at_its_deadline_or_when_a_callback_says_so), TEST(damage_is_reported))
