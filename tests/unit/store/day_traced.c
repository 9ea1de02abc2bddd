/* SPDX-License-Identifier: Apache-2.0 */
/*
 * covers: src/store/traced.c src/store/sqlite/day_ids.c
 */
#include "store/sqlite/day_traced.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "fixture.h"
#include "flame/merged_stacks.h"
#include "profile/profile.h"
#include "store/files.h"
#include "store/matcher.h"
#include "store/sqlite/day_check.h"
#include "store/sqlite/day_files.h"
#include "store/sqlite/day_rewrite.h"
#include "store/sqlite/db.h"
#include "store/traced.h"
#include "tests/test.h"

#define SECOND 1000000000LL

enum { NUMBER = 20778 };

static void put_label(struct profile *p, struct profile_sample *s, struct profile_label *labels,
		      const char *key, const char *value)
{
	struct profile_label *l = &labels[s->n_labels];

	if (!value)
		return;
	*l = (struct profile_label){ 0 };
	assert_int_equal(profile_add_string(p, key, strlen(key), &l->key), 0);
	assert_int_equal(profile_add_string(p, value, strlen(value), &l->str), 0);
	s->n_labels++;
}

/* Adds @n samples of the first stack, which belong to a span and a trace, if they are not NULL. */
static void add_traced(struct profile *p, int64_t n, const char *span, const char *trace)
{
	const int64_t values[] = { n, n * 10000000 };
	struct profile_label labels[2];
	struct profile_sample s = { .stack = profile_sample(p, 0).stack,
				    .values = values,
				    .labels = labels };

	put_label(p, &s, labels, "span_id", span);
	put_label(p, &s, labels, "trace_id", trace);
	assert_int_equal(profile_add_sample(p, &s), 0);
}

static int append(struct store *s, const char *service, int64_t time_ns, const struct profile *p)
{
	const struct store_label label = { "service_name", service };
	const struct store_profile sp = { .name = "process_cpu",
					  .labels = &label,
					  .n_labels = 1,
					  .time_ns = time_ns,
					  .profile = p };

	return store_append(s, "anonymous", &sp, 1, NULL);
}

static void append_traced(struct store *s, const char *service, int64_t time_ns, int64_t n,
			  const char *span, const char *trace)
{
	_cleanup_(profile_freep) struct profile *p = fixture_profile("main;a 1\n");

	add_traced(p, n, span, trace);
	assert_int_equal(append(s, service, time_ns, p), 0);
}

static int64_t total_of(struct store *s, const char *service, const char *const *ids, size_t n,
			int64_t start_ns, int64_t end_ns)
{
	const struct store_type type = { "process_cpu", "samples", "count", "cpu", "nanoseconds" };
	_cleanup_(merged_stacks_freep) struct merged_stacks *st = NULL;
	_cleanup_(matcher_freep) struct matcher *m = NULL;
	struct store_trace_id traced[4];
	const struct store_select sel = { .tenant = "anonymous",
					  .type = &type,
					  .matchers = &m,
					  .n_matchers = service ? 1 : 0,
					  .start_ns = start_ns,
					  .end_ns = end_ns,
					  .traced = traced,
					  .n_traced = n };

	if (service)
		assert_int_equal(matcher_new(&m, MATCHER_EQ, "service_name", service, NULL), 0);
	for (size_t i = 0; i < n; i++)
		assert_true(traced_parse_id(ids[i], strlen(ids[i]), &traced[i]));
	assert_int_equal(store_merge(s, &sel, &st, NULL), 0);
	return st->total;
}

static int64_t total(struct store *s, const char *id)
{
	return total_of(s, NULL, &id, 1, 0, INT64_MAX);
}

#define SPAN_A  "00000000000000aa"
#define SPAN_B  "BB00000000000000"
#define TRACE_A "0102030405060708090a0b0c0d0e0f10"

static void an_id_has_8_or_16_bytes_of_which_one_is_not_0(void **state)
{
	static const char *const bad[] = { "",
					   "0000000000000000",
					   "00000000000000000000000000000000",
					   "00000000000000a",
					   "00000000000000aaa",
					   "00000000000000ag",
					   "0x000000000000aa" };
	struct store_trace_id id;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(traced_parse_id(bad[i], strlen(bad[i]), &id));
	assert_true(traced_parse_id("00aA00000000000F", 16, &id));
	assert_int_equal(id.len, 8);
	assert_memory_equal(id.bytes, "\x00\xaa\0\0\0\0\0\x0f\0\0\0\0\0\0\0\0", 16);
	assert_true(traced_parse_id(TRACE_A, 32, &id));
	assert_int_equal(id.len, 16);
}

static int count_series(void *ctx, const struct store_label *labels, size_t n)
{
	++*(int *)ctx;
	for (size_t i = 0; i < n; i++)
		assert_true(strcmp(labels[i].name, "span_id") &&
			    strcmp(labels[i].name, "trace_id"));
	return 0;
}

static void spans_and_traces_select_their_samples_and_make_no_series(void **state)
{
	static const char *const twice[] = { SPAN_A, SPAN_B, SPAN_A };
	static const char *const a = SPAN_A;
	const struct store_type type = { "process_cpu", "samples", "count", "cpu", "nanoseconds" };
	const struct store_select all = { .tenant = "anonymous",
					  .type = &type,
					  .end_ns = INT64_MAX };
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);
	int n = 0;

	append_traced(s, "shop", NOON, 2, SPAN_A, TRACE_A);
	append_traced(s, "shop", NOON + 700 * SECOND, 4, SPAN_A, NULL);
	append_traced(s, "mail", NOON, 8, SPAN_B, TRACE_A);
	append_traced(s, "mail", NOON + DAY, 16, SPAN_A, NULL);
	append_traced(s, "shop", NOON, 32, NULL, NULL);
	append_traced(s, "shop", NOON, 64, "not an id", "0");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(total(s, SPAN_A), 22);
		assert_int_equal(total(s, SPAN_B), 8);
		assert_int_equal(total(s, "bb00000000000000"), 8);
		assert_int_equal(total(s, TRACE_A), 10);
		assert_int_equal(total(s, "00000000000000ab"), 0);
		assert_int_equal(total_of(s, NULL, twice, 3, 0, INT64_MAX), 30);
		assert_int_equal(total_of(s, "shop", &a, 1, 0, INT64_MAX), 6);
		assert_int_equal(total_of(s, "shop", &a, 1, NOON, NOON + 700 * SECOND - 1), 2);
		assert_int_equal(total_of(s, NULL, &a, 1, NOON + 1, NOON + DAY - 1), 4);
		store_close(s);
		s = fixture_open(dir);
	}
	assert_int_equal(store_series(s, &all, count_series, &n, NULL), 0);
	assert_int_equal(n, 3); /* the second day has its own */
	store_close(s);
	fixture_remove(dir);
}

static void sums_of_random_spans_equal_what_was_appended(void **state)
{
	int64_t sums[5] = { 0 };
	char *dir = fixture_dir(), id[32];
	struct store *s = fixture_open(dir);
	unsigned int seed = 3;

	for (int i = 0; i < 30; i++) {
		_cleanup_(profile_freep) struct profile *p = fixture_profile("main;a 1\nmain 7\n");
		int64_t at = NOON + (int64_t)(rand_r(&seed) % 40000) * SECOND;

		for (int k = 0; k < 20; k++) {
			int which = rand_r(&seed) % 5, n = rand_r(&seed) % 3;

			snprintf(id, sizeof(id), "%016x", which + 1);
			add_traced(p, n, id, NULL);
			sums[which] += n;
		}
		assert_int_equal(append(s, "shop", at, p), 0);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(store_roll_up(s, NOON + DAY, NULL), 0);
	for (int i = 0; i < 5; i++) {
		snprintf(id, sizeof(id), "%016x", i + 1);
		assert_int_equal(total(s, id), sums[i]);
	}
	store_close(s);
	fixture_remove(dir);
}

static void a_window_of_too_many_samples_is_stored_without_an_index(void **state)
{
	_cleanup_(profile_freep) struct profile *p = fixture_profile("main;a 1\n");
	char *dir = fixture_dir(), id[32];
	struct store *s = fixture_open(dir);

	for (int i = 1; i <= TRACED_MAX; i++) {
		snprintf(id, sizeof(id), "%016x", i);
		add_traced(p, 1, id, NULL);
	}
	assert_int_equal(append(s, "shop", NOON, p), 0);
	assert_int_equal(total(s, "0000000000000007"), 1);
	add_traced(p, 1, "ff00000000000000", NULL);
	assert_int_equal(append(s, "shop", NOON + 1, p), 0);
	assert_int_equal(total(s, "0000000000000007"), 1);
	assert_int_equal(fixture_total(s, "shop", NOON + 1, NOON + 1),
			 (TRACED_MAX + 2) * 10000000LL);
	store_close(s);
	fixture_remove(dir);
}

/* A day with samples of two spans, and its file. */
static char *make_day(char *path)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);

	append_traced(s, "shop", NOON, 2, SPAN_A, TRACE_A);
	append_traced(s, "mail", NOON, 3, SPAN_A, NULL);
	append_traced(s, "mail", NOON, 5, SPAN_B, NULL);
	store_close(s);
	day_files_path(dir, "anonymous", NUMBER, path);
	return dir;
}

static void a_rewritten_file_has_the_samples_of_what_is_left(void **state)
{
	char path[DAY_FILES_PATH_LEN], *dir = make_day(path);
	struct matcher *m = NULL;
	struct store_deletion del = { .matchers = &m, .n_matchers = 1, .end_ns = INT64_MAX };
	struct day_check have;
	struct day_rewrite done;
	struct sqlite3 *db = NULL;
	struct store *s;
	int64_t n = 0;

	assert_int_equal(day_rewrite(path, NUMBER, NULL, NULL, NULL, &done, NULL), 0);
	s = fixture_open(dir);
	assert_int_equal(total(s, SPAN_A), 5);
	assert_int_equal(total(s, SPAN_B), 5);
	assert_int_equal(total(s, TRACE_A), 2);
	store_close(s);
	assert_int_equal(matcher_new(&m, MATCHER_EQ, "service_name", "shop", NULL), 0);
	assert_int_equal(day_rewrite(path, NUMBER, &del, NULL, NULL, &done, NULL), 0);
	assert_int_equal(done.n_deleted, 1);
	assert_int_equal(day_check(path, NUMBER, &have, NULL), 0);
	assert_int_equal(db_open(&db, path, DB_READ, NULL), 0);
	assert_int_equal(db_number(db, "SELECT count(*) FROM traced", &n, NULL), 0);
	assert_int_equal(n, 2);
	db_close(db);
	matcher_free(m);
	fixture_remove(dir);
}

static void damaged_rows_are_found(void **state)
{
	static const char *const cases[] = {
		"UPDATE traced SET data=zeroblob(length(data))",
		"UPDATE traced SET id=x'01' WHERE length(id)=16",
		"UPDATE traced SET data=x''",
		"UPDATE traced SET block=block+90",
		"UPDATE traced SET id='0123456789abcdef' WHERE length(id)=16",
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char path[DAY_FILES_PATH_LEN], *dir = make_day(path);
		struct sqlite3 *db = fixture_database(path);
		struct day_check have;
		struct err err = { 0 };

		assert_int_equal(sqlite3_exec(db, cases[i], NULL, NULL, NULL), SQLITE_OK);
		sqlite3_close(db);
		if (day_check(path, NUMBER, &have, &err) != -EBADMSG ||
		    !strstr(err.msg, "of a span"))
			fail_msg("%s: %s", cases[i], err.msg);
		fixture_remove(dir);
	}
}

/* As a file of an older version, which has no such table. */
static void a_file_without_the_index_gets_it(void **state)
{
	char path[DAY_FILES_PATH_LEN], *dir = make_day(path);
	struct sqlite3 *db = fixture_database(path);
	struct day_check have;
	struct store *s;

	assert_int_equal(
		sqlite3_exec(
			db,
			"DROP TABLE traced; DROP TABLE packs; DROP TABLE packed; DROP TABLE gaps;"
			"PRAGMA user_version=4",
			NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(day_check(path, NUMBER, &have, NULL), 0);
	s = fixture_open(dir);
	assert_int_equal(total(s, SPAN_A), 0);
	append_traced(s, "shop", NOON, 9, SPAN_A, NULL);
	assert_int_equal(total(s, SPAN_A), 9);
	store_close(s);
	fixture_remove(dir);
}

TEST_GROUP(test_day_traced, TEST(an_id_has_8_or_16_bytes_of_which_one_is_not_0),
	   TEST(spans_and_traces_select_their_samples_and_make_no_series),
	   TEST(sums_of_random_spans_equal_what_was_appended),
	   TEST(a_window_of_too_many_samples_is_stored_without_an_index),
	   TEST(a_rewritten_file_has_the_samples_of_what_is_left), TEST(damaged_rows_are_found),
	   TEST(a_file_without_the_index_gets_it))
