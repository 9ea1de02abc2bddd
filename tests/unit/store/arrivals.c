/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrivals, and the tables that it is moved to, give the results of a list of windows in
 * memory: random windows, rolled back ones, moves and reopening in between.
 *
 * covers: src/store/sqlite/day_gain.c src/store/sqlite/day_settle.c src/store/sqlite/day_windows.c
 */
#include "store/sqlite/arrivals.h"

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
#include "store/intern.h"
#include "store/sqlite/day.h"
#include "store/sqlite/day_check.h"
#include "store/sqlite/day_query.h"
#include "store/sqlite/day_settle.h"
#include "store/sqlite/db.h"
#include "tests/test.h"

#define SECOND 1000000000LL

enum { NUMBER = 20778, MAX = 400, SERVICES = 5 };

static const char *const services[SERVICES] = { "shop", "mail", "search", "cart", "login" };

static const struct store_type type = { "process_cpu", "samples", "count", "cpu", "nanoseconds" };

static void put_items(struct buf *row)
{
	const struct buf chunk = { .data = (uint8_t *)"chunk", .len = 5 };
	const uint8_t key[WINDOW_KEY_LEN] = { 1, 2, 3 };
	_cleanup_(buf_fini) struct buf traced = { 0 };
	struct arrivals_window w = { .series = 7,
				     .time_ns = NOON,
				     .has_id = true,
				     .id = -5,
				     .head = { "head", 4 },
				     .block = { "block", 5 } };

	arrivals_put_traced(&traced, &(struct store_trace_id){ { 9 }, 8 }, &chunk);
	w.traced = (struct arrivals_blob){ traced.data, traced.len };
	arrivals_put_chunk(row, 2, 300, &chunk);
	arrivals_put_key(row, key);
	arrivals_put_window(row, &w);
	assert_int_equal(buf_error(row), 0);
}

static void items_are_read_as_they_were_written(void **state)
{
	_cleanup_(buf_fini) struct buf row = { 0 };
	struct arrivals_item item;
	struct arrivals_blob block;
	struct store_trace_id id;
	struct wire w, traced;

	put_items(&row);
	w = wire_of(row.data, row.len);
	assert_int_equal(arrivals_next(&w, &item), 1);
	assert_int_equal(item.kind, ARRIVALS_CHUNK);
	assert_int_equal(item.chunk.kind, 2);
	assert_int_equal(item.chunk.first, 300);
	assert_memory_equal(item.chunk.data.data, "chunk", item.chunk.data.len);
	assert_int_equal(arrivals_next(&w, &item), 1);
	assert_int_equal(item.kind, ARRIVALS_KEY);
	assert_int_equal(item.key[2], 3);
	assert_int_equal(arrivals_next(&w, &item), 1);
	assert_int_equal(item.kind, ARRIVALS_WINDOW);
	assert_int_equal(item.window.series, 7);
	assert_true(item.window.time_ns == NOON);
	assert_true(item.window.has_id && item.window.id == -5);
	assert_int_equal(item.window.times.len, 0);
	traced = wire_of(item.window.traced.data, item.window.traced.len);
	assert_int_equal(arrivals_next_traced(&traced, &id, &block), 1);
	assert_int_equal(id.len, 8);
	assert_int_equal(id.bytes[0], 9);
	assert_int_equal(block.len, 5);
	assert_int_equal(arrivals_next_traced(&traced, &id, &block), 0);
	assert_int_equal(arrivals_next(&w, &item), 0);
}

/* A row that ends early or has any other byte is read without leaving it. */
static void damaged_items_are_refused_or_read_within_the_row(void **state)
{
	_cleanup_(buf_fini) struct buf row = { 0 };
	struct arrivals_item item;
	int n_refused = 0;

	put_items(&row);
	for (size_t len = 0; len < row.len; len++) {
		_cleanup_(freep) uint8_t *part = malloc(len + 1);
		struct wire w = wire_of(part, len);
		int r;

		memcpy(part, row.data, len);
		while ((r = arrivals_next(&w, &item)) > 0)
			;
		n_refused += r == -EBADMSG;
	}
	assert_int_equal(n_refused, row.len - 3); /* the others end with an item */
	for (size_t i = 0; i < row.len * 256; i++) {
		_cleanup_(freep) uint8_t *part = malloc(row.len);
		struct wire w = wire_of(part, row.len);

		memcpy(part, row.data, row.len);
		part[i / 256] = (uint8_t)i;
		while (arrivals_next(&w, &item) > 0)
			;
	}
}

/* ---- the model ---------------------------------------------------------------------- */

struct window {
	int service;
	int64_t time_ns, value;
	char id[16];
};

struct model {
	char *dir, path[300];
	struct day *day;
	struct window all[MAX];
	int n;
	unsigned int seed;
};

static void open_day(struct model *m)
{
	assert_int_equal(day_open(&m->day, m->path, true, NULL), 0);
}

static int append(struct model *m, const struct window *w)
{
	const struct store_label label = { "service_name", services[w->service] };
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct intern_keys keys = { 0 };
	struct store_profile sp = { .name = "process_cpu",
				    .labels = &label,
				    .n_labels = 1,
				    .time_ns = w->time_ns,
				    .id = w->id,
				    .id_time_ns = w->time_ns };
	char folded[64];
	int r;

	snprintf(folded, sizeof(folded), "main;f%d %d\n", (int)w->value % 60, (int)w->value);
	p = fixture_profile(folded);
	sp.profile = p;
	assert_int_equal(intern_keys_build(&keys, p), 0);
	r = day_append(m->day, &sp, &keys, NULL);
	intern_keys_fini(&keys);
	return r;
}

/* A transaction of a few windows; some of them are rolled back, alone or all. */
static void commit_some(struct model *m)
{
	int n = m->n, count = 1 + rand_r(&m->seed) % 6;
	bool commit = rand_r(&m->seed) % 5 != 0;

	assert_int_equal(day_begin(m->day, NULL), 0);
	for (int i = 0; i < count && n < MAX; i++) {
		struct window *w = &m->all[n];
		bool keep = rand_r(&m->seed) % 4 != 0;

		*w = (struct window){ rand_r(&m->seed) % SERVICES,
				      NOON + rand_r(&m->seed) % 3000 * SECOND,
				      1 + rand_r(&m->seed) % 100, "" };
		snprintf(w->id, sizeof(w->id), "id-%d", n);
		assert_int_equal(day_savepoint_begin(m->day, NULL), 0);
		assert_int_equal(append(m, w), 0);
		assert_int_equal(day_savepoint_end(m->day, keep, NULL), 0);
		n += keep;
		/* what was pushed before counts once */
		if (n)
			assert_int_equal(append(m, &m->all[rand_r(&m->seed) % n]), 0);
	}
	if (!commit) {
		day_rollback(m->day);
		return;
	}
	assert_int_equal(day_commit(m->day, NULL), 0);
	m->n = n;
}

/* The points of one query, whose times must ascend in each series. */
struct points {
	int64_t sum, last_ns;
	int n;
};

static int on_series(void *ctx, const struct store_label *labels, size_t n)
{
	((struct points *)ctx)->last_ns = 0;
	return 0;
}

static int on_point(void *ctx, const struct store_point *p)
{
	struct points *to = ctx;

	assert_true(p->time_ns >= to->last_ns);
	to->last_ns = p->time_ns;
	to->sum += p->value;
	to->n++;
	return 0;
}

static int64_t merged(struct model *m, struct store_select *sel)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *s = NULL;

	assert_int_equal(merged_stacks_new(&s), 0);
	assert_int_equal(day_query_merge(day_state(m->day), sel, s, NULL), 0);
	return s->total;
}

static void compare_range(struct model *m, int64_t start_ns, int64_t end_ns)
{
	struct store_select sel = {
		.tenant = "t", .type = &type, .start_ns = start_ns, .end_ns = end_ns
	};
	const char *id = m->n ? m->all[rand_r(&m->seed) % m->n].id : "none";
	struct points p = { 0 }, expected = { 0 };
	int64_t of_id = 0;

	for (int i = 0; i < m->n; i++) {
		const struct window *w = &m->all[i];

		if (w->time_ns < start_ns || w->time_ns > end_ns)
			continue;
		expected.sum += w->value;
		expected.n++;
		of_id += strcmp(w->id, id) == 0 ? w->value : 0;
	}
	assert_int_equal(day_query_points(day_state(m->day), &sel, on_series, on_point, &p, NULL),
			 0);
	assert_int_equal(p.n, expected.n);
	assert_int_equal(p.sum, expected.sum);
	assert_int_equal(merged(m, &sel), expected.sum);
	sel.ids = &id;
	sel.n_ids = 1;
	assert_int_equal(merged(m, &sel), of_id);
}

static void check_file(struct model *m)
{
	struct day_check have = { 0 };
	struct err err = { 0 };

	if (day_check(m->path, NUMBER, &have, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(have.n_windows, m->n);
	assert_int_equal(day_n_windows(m->day), m->n);
}

static void results_equal_those_of_a_list(void **state)
{
	for (unsigned int seed = 1; seed <= 8; seed++) {
		struct model m = { .dir = fixture_dir(), .seed = seed };

		snprintf(m.path, sizeof(m.path), "%s/day.db", m.dir);
		open_day(&m);
		for (int i = 0; i < 40; i++) {
			int64_t start = NOON + rand_r(&m.seed) % 3000 * SECOND;

			commit_some(&m);
			if (rand_r(&m.seed) % 6 == 0)
				assert_int_equal(day_settle(m.day, NULL), 0);
			if (rand_r(&m.seed) % 6 == 0) {
				day_close(m.day);
				open_day(&m);
			}
			compare_range(&m, 0, INT64_MAX);
			compare_range(&m, start, start + rand_r(&m.seed) % 3000 * SECOND);
		}
		check_file(&m);
		day_close(m.day);
		fixture_remove(m.dir);
	}
}

/* More than fits is moved by the commit itself. */
static void much_at_once_goes_into_the_tables(void **state)
{
	struct model m = { .dir = fixture_dir() };
	struct sqlite3 *db = NULL;
	int64_t n = -1;

	snprintf(m.path, sizeof(m.path), "%s/day.db", m.dir);
	open_day(&m);
	for (int k = 0; k < 2; k++) {
		assert_int_equal(day_begin(m.day, NULL), 0);
		for (int i = 0; i < 16000; i++)
			assert_int_equal(append(&m, &(struct window){ 0, NOON + i, 1, "" }), 0);
		assert_int_equal(day_commit(m.day, NULL), 0);
	}
	assert_int_equal(db_open(&db, m.path, DB_READ, NULL), 0);
	assert_int_equal(db_number(db, "SELECT count(*) FROM windows", &n, NULL), 0);
	assert_true(n >= 16000);
	assert_int_equal(db_number(db, "SELECT sum(length(data)) FROM arrivals", &n, NULL), 0);
	assert_true(n < 2 << 20);
	db_close(db);
	m.n = 32000;
	check_file(&m);
	day_close(m.day);
	fixture_remove(m.dir);
}

/* Neither a changed nor a missing row passes. */
static void a_damaged_row_is_found(void **state)
{
	static const char *const changes[] = {
		"UPDATE arrivals SET data=substr(data, 1, length(data)-1) || x'00' WHERE id=2",
		"DELETE FROM arrivals WHERE id=2",
		"UPDATE arrivals SET windows=windows+1",
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct model m = { .dir = fixture_dir(), .seed = 2 };
		struct day_check have;
		struct sqlite3 *db = NULL;

		snprintf(m.path, sizeof(m.path), "%s/day.db", m.dir);
		open_day(&m);
		while (m.n < 20)
			commit_some(&m);
		day_close(m.day);
		assert_int_equal(db_open(&db, m.path, DB_WRITE, NULL), 0);
		assert_int_equal(db_exec(db, changes[i], NULL), 0);
		db_close(db);
		assert_int_equal(day_check(m.path, NUMBER, &have, NULL), -EBADMSG);
		fixture_remove(m.dir);
	}
}

TEST_GROUP(test_arrivals, TEST(items_are_read_as_they_were_written),
	   TEST(damaged_items_are_refused_or_read_within_the_row),
	   TEST(results_equal_those_of_a_list), TEST(much_at_once_goes_into_the_tables),
	   TEST(a_damaged_row_is_found))
