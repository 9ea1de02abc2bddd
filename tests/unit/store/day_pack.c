/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store whose windows are packed at random moments answers every query like a list of windows in
 * memory: random windows, late ones, deletions, compaction and reopening in between.
 *
 * covers: src/store/sqlite/day_rollups.c
 */
#include "store/sqlite/day_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "fixture.h"
#include "flame/merged_stacks.h"
#include "old_format.h"
#include "profile/profile.h"
#include "store/files.h"
#include "store/kinds/store_open.h"
#include "store/matcher.h"
#include "store/sqlite/day_check.h"
#include "store/sqlite/day_files.h"
#include "store/sqlite/day_rewrite.h"
#include "store/sqlite/db.h"
#include "store/sqlite/sqlite_files.h"
#include "store/store.h"
#include "store/timed_samples.h"
#include "store/traced.h"
#include "tests/test.h"

#define SECOND 1000000000LL
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)

enum { NUMBER = NOON / DAY, MAX = 1500, STACKS = 8, SERVICES = 3, PODS = 2, SPAN = 7 };

static const char *const services[SERVICES] = { "shop", "mail", "search" };
static const char *const pods[PODS] = { "a", "b" };

static const struct store_type type = { "process_cpu", "samples", "count", "cpu", "nanoseconds" };

struct window {
	int service, pod, stacks[STACKS], timed, traced;
	int64_t time_ns;
	char id[16];
	bool deleted;
};

struct model {
	char *dir, path[DAY_FILES_PATH_LEN];
	struct store *s;
	struct window all[MAX];
	int n;
	unsigned int seed;
};

static int below(struct model *m, int n)
{
	return rand_r(&m->seed) % n;
}

static int64_t value_of(const struct window *w)
{
	int64_t sum = w->timed + w->traced;

	for (int i = 0; i < STACKS; i++)
		sum += w->stacks[i];
	return sum;
}

/* ---- appending ---------------------------------------------------------------------- */

/* One more sample of the first stack, with two times and a thread. */
static void add_timed(struct profile *p, const struct window *w)
{
	const uint64_t times[] = { (uint64_t)w->time_ns + 1000000, (uint64_t)w->time_ns + 3000000 };
	const int64_t values[] = { w->timed, w->timed * 10000000 };
	struct profile_label labels[2] = { { .num = 5 }, { .num = 7 } };
	struct profile_sample s = { .stack = profile_sample(p, 0).stack,
				    .values = values,
				    .labels = labels,
				    .n_labels = 2,
				    .times = times,
				    .n_times = 2 };

	assert_int_equal(profile_add_string(p, "pid", 3, &labels[0].key), 0);
	assert_int_equal(profile_add_string(p, "tid", 3, &labels[1].key), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
}

static void add_traced(struct profile *p, const struct window *w)
{
	const int64_t values[] = { w->traced, w->traced * 10000000 };
	struct profile_label label = { 0 };
	struct profile_sample s = { .stack = profile_sample(p, 0).stack,
				    .values = values,
				    .labels = &label,
				    .n_labels = 1 };

	assert_int_equal(profile_add_string(p, "span_id", 7, &label.key), 0);
	assert_int_equal(profile_add_string(p, "00000000000000aa", 16, &label.str), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
}

static void append(struct model *m, const struct window *w)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	const struct store_label labels[] = { { "instance", pods[w->pod] },
					      { "service_name", services[w->service] } };
	struct store_profile sp = { .name = "process_cpu",
				    .labels = labels,
				    .n_labels = 2,
				    .time_ns = w->time_ns,
				    .id = w->id,
				    .id_time_ns = w->time_ns };
	char folded[40 * STACKS] = "";

	for (int i = 0; i < STACKS; i++)
		if (w->stacks[i])
			snprintf(folded + strlen(folded), 40, "main;f%d %d\n", i, w->stacks[i]);
	p = fixture_profile(folded);
	if (w->timed)
		add_timed(p, w);
	if (w->traced)
		add_traced(p, w);
	sp.profile = p;
	assert_int_equal(store_append(m->s, "anonymous", &sp, 1, NULL), 0);
}

/* Times are multiples of ten seconds, so some are equal; windows of one series are not. */
static bool is_taken(const struct model *m, const struct window *w)
{
	for (int i = 0; i < m->n; i++)
		if (m->all[i].time_ns == w->time_ns && m->all[i].service == w->service &&
		    m->all[i].pod == w->pod)
			return true;
	return false;
}

static void append_some(struct model *m)
{
	for (int i = 1 + below(m, 60); i > 0 && m->n < MAX; i--) {
		struct window *w = &m->all[m->n];

		*w = (struct window){ .service = below(m, SERVICES),
				      .pod = below(m, PODS),
				      .time_ns = NOON + below(m, SPAN * 360) * 10 * SECOND };
		if (is_taken(m, w))
			continue;
		w->stacks[0] = 1;
		for (int k = below(m, STACKS); k > 0; k--)
			w->stacks[below(m, STACKS)] += 1 + below(m, 300);
		w->timed = below(m, 4) ? 0 : 2 * (1 + below(m, 5));
		w->traced = below(m, 4) ? 0 : 1 + below(m, 5);
		if (below(m, 3))
			snprintf(w->id, sizeof(w->id), "id-%d", m->n);
		append(m, w);
		if (w->id[0] && !below(m, 5)) /* again, which counts once */
			append(m, w);
		m->n++;
	}
}

/* ---- comparing ---------------------------------------------------------------------- */

/* The result of a query. The sums distinguish which window has which value. */
struct seen {
	int64_t value, n_times;
	uint64_t n, mixed, series, last_ns;
};

static uint64_t mix(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t x = a * 0x9e3779b97f4a7c15 + b * 0xc2b2ae3d27d4eb4f + c * 0x165667b19e3779f9;

	return x ^ x >> 29;
}

static uint64_t series_of(int service, int pod)
{
	return (uint64_t)(services[service][0] * 256 + pods[pod][0]);
}

static const char *label_of(const struct store_label *labels, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(labels[i].name, name))
			return labels[i].value;
	return "";
}

static int on_series(void *ctx, const struct store_label *labels, size_t n)
{
	struct seen *to = ctx;

	to->series = (uint64_t)(label_of(labels, n, "service_name")[0] * 256 +
				label_of(labels, n, "instance")[0]);
	to->last_ns = 0;
	to->n_times++;
	return 0;
}

static int on_point(void *ctx, const struct store_point *p)
{
	struct seen *to = ctx;

	assert_true((uint64_t)p->time_ns > to->last_ns);
	to->last_ns = (uint64_t)p->time_ns;
	to->value += p->value;
	to->n++;
	to->mixed += mix(to->series, (uint64_t)p->time_ns, (uint64_t)p->value);
	return 0;
}

static int on_times(void *ctx, const struct store_point *p, const int64_t *times_ns, size_t n)
{
	struct seen *to = ctx;

	to->n++;
	to->n_times += (int64_t)n;
	to->mixed += mix(n ? (uint64_t)(times_ns[n - 1] - p->time_ns) : 0, (uint64_t)p->time_ns,
			 (uint64_t)p->value);
	return 0;
}

/* A range, and a service or -1. */
struct range {
	int64_t start_ns, end_ns;
	int service;
};

static bool is_in(const struct window *w, const struct range *in)
{
	return !w->deleted && w->time_ns >= in->start_ns && w->time_ns <= in->end_ns &&
	       (in->service < 0 || w->service == in->service);
}

static void compare_points(struct model *m, const struct range *in, struct store_select sel,
			   int stack)
{
	char name[8];
	const char *const site[] = { "main", name };
	struct seen got = { 0 }, want = { 0 };

	snprintf(name, sizeof(name), "f%d", stack);
	sel.call_site = site;
	sel.n_call_site = stack < 0 ? 0 : 2;
	for (int i = 0; i < m->n; i++) {
		const struct window *w = &m->all[i];
		int64_t v = stack > 0 ? w->stacks[stack] : value_of(w);

		if (!is_in(w, in))
			continue;
		want.value += v;
		want.n++;
		want.mixed += mix(series_of(w->service, w->pod), (uint64_t)w->time_ns, (uint64_t)v);
	}
	assert_int_equal(store_points(m->s, &sel, on_series, on_point, &got, NULL), 0);
	assert_int_equal(got.n, want.n);
	assert_int_equal(got.value, want.value);
	assert_true(got.mixed == want.mixed);
}

static int64_t stack_of(const struct merged_stacks *st, int stack)
{
	char name[8];
	const char *const site[] = { "main", name };
	_cleanup_(freep) uint8_t *within = NULL;
	int64_t sum = 0;

	snprintf(name, sizeof(name), "f%d", stack);
	within = merged_stacks_match_call_site(st->dict, (uint32_t)st->n, site, 2);
	assert_non_null(within);
	for (size_t i = 0; i < st->n; i++)
		sum += within[i] ? st->self[i] : 0;
	return sum;
}

static void compare_merge(struct model *m, const struct range *in, const struct store_select *sel)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *st = NULL;
	int64_t want[STACKS] = { 0 };
	uint64_t n = 0;

	for (int i = 0; i < m->n; i++) {
		const struct window *w = &m->all[i];

		if (!is_in(w, in))
			continue;
		n++;
		want[0] += w->timed + w->traced; /* a sample of the first stack */
		for (int k = 0; k < STACKS; k++)
			want[k] += w->stacks[k];
	}
	assert_int_equal(store_merge(m->s, sel, &st, NULL), 0);
	assert_int_equal(st->n_windows, n);
	assert_int_equal(st->duration_ns, (int64_t)n * 15 * SECOND);
	for (int k = 0; k < STACKS; k++)
		assert_int_equal(stack_of(st, k), want[k]);
}

static int64_t total_of(struct model *m, const struct store_select *sel)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *st = NULL;

	assert_int_equal(store_merge(m->s, sel, &st, NULL), 0);
	return st->total;
}

static void compare_ids(struct model *m, const struct range *in, struct store_select sel)
{
	const struct window *w = &m->all[below(m, m->n)];
	const char *id = w->id[0] ? w->id : "none";
	struct store_trace_id span;
	int64_t traced = 0;

	sel.ids = &id;
	sel.n_ids = 1;
	assert_int_equal(total_of(m, &sel), w->id[0] && is_in(w, in) ? value_of(w) : 0);
	sel.n_ids = 0;
	assert_true(traced_parse_id("00000000000000aa", 16, &span));
	sel.traced = &span;
	sel.n_traced = 1;
	for (int i = 0; i < m->n; i++)
		traced += is_in(&m->all[i], in) ? m->all[i].traced : 0;
	assert_int_equal(total_of(m, &sel), traced);
}

static void compare_times(struct model *m, const struct range *in, const struct store_select *sel)
{
	struct timed_samples samples = { .pid = -1, .tid = -1 };
	struct seen got = { 0 }, want = { 0 };
	size_t n = 0;

	for (int i = 0; i < m->n; i++) {
		const struct window *w = &m->all[i];

		n += !w->deleted && (in->service < 0 || w->service == in->service) && w->timed
			     ? (w->time_ns + 1000000 >= in->start_ns &&
				w->time_ns + 1000000 <= in->end_ns) +
				       (w->time_ns + 3000000 >= in->start_ns &&
					w->time_ns + 3000000 <= in->end_ns)
			     : 0;
		if (!is_in(w, in))
			continue;
		want.n++;
		want.n_times += w->timed ? 2 : 0;
		want.mixed +=
			mix(w->timed ? 3000000 : 0, (uint64_t)w->time_ns, (uint64_t)value_of(w));
	}
	assert_int_equal(store_sample_times(m->s, sel, on_times, &got, NULL), 0);
	assert_int_equal(got.n, want.n);
	assert_int_equal(got.n_times, want.n_times);
	assert_true(got.mixed == want.mixed);
	assert_int_equal(store_samples(m->s, sel, MINUTE, &samples, NULL), 0);
	assert_int_equal(samples.all.len, n);
	timed_samples_fini(&samples);
}

static void compare_series(struct model *m, const struct range *in, const struct store_select *sel)
{
	bool has[SERVICES][PODS] = { 0 };
	struct seen got = { 0 };
	int n = 0;

	for (int i = 0; i < m->n; i++)
		if (is_in(&m->all[i], in))
			has[m->all[i].service][m->all[i].pod] = true;
	for (int i = 0; i < SERVICES * PODS; i++)
		n += has[i / PODS][i % PODS];
	assert_int_equal(store_series(m->s, sel, on_series, &got, NULL), 0);
	assert_int_equal(got.n_times, n);
}

static void compare_range(struct model *m, const struct range *in)
{
	_cleanup_(matcher_freep) struct matcher *by_service = NULL;
	const struct store_select sel = { .tenant = "anonymous",
					  .type = &type,
					  .matchers = &by_service,
					  .n_matchers = in->service >= 0,
					  .start_ns = in->start_ns,
					  .end_ns = in->end_ns };

	if (in->service >= 0)
		assert_int_equal(matcher_new(&by_service, MATCHER_EQ, "service_name",
					     services[in->service], NULL),
				 0);
	compare_points(m, in, sel, -1);
	compare_points(m, in, sel, 1 + below(m, STACKS - 1));
	compare_merge(m, in, &sel);
	compare_ids(m, in, sel);
	compare_times(m, in, &sel);
	compare_series(m, in, &sel);
}

static void compare(struct model *m)
{
	int64_t start = NOON + below(m, SPAN * 3600) * SECOND;

	if (!m->n)
		return;
	compare_range(m, &(struct range){ 0, INT64_MAX, -1 });
	compare_range(m, &(struct range){ NOON, NOON + 2 * HOUR - 1, below(m, SERVICES) });
	compare_range(m, &(struct range){ start, start + below(m, SPAN * 3600) * SECOND,
					  below(m, SERVICES + 1) - 1 });
	compare_range(m, &(struct range){ start, start + below(m, 100) * SECOND, -1 });
}

/* ---- changing ----------------------------------------------------------------------- */

static void open_store(struct model *m)
{
	m->s = fixture_open(m->dir);
}

static int count_live(const struct model *m)
{
	int n = 0;

	for (int i = 0; i < m->n; i++)
		n += !m->all[i].deleted;
	return n;
}

static void close_store(struct model *m)
{
	struct day_check have = { 0 };
	struct err err = { 0 };

	store_close(m->s);
	if (m->n && day_check(m->path, NUMBER, &have, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(have.n_windows, count_live(m));
}

static int ignore_file(void *ctx, const struct store_file *file)
{
	return 0;
}

static void delete_some(struct model *m)
{
	_cleanup_(matcher_freep) struct matcher *by_service = NULL;
	int64_t start = NOON + below(m, SPAN * 3600) * SECOND;
	int service = below(m, SERVICES);
	struct range in = { start, start + below(m, 3600) * SECOND, service };
	const struct store_deletion del = { .tenant = "anonymous",
					    .matchers = &by_service,
					    .n_matchers = 1,
					    .selector = "test",
					    .start_ns = in.start_ns,
					    .end_ns = in.end_ns + 1 };

	assert_int_equal(
		matcher_new(&by_service, MATCHER_EQ, "service_name", services[service], NULL), 0);
	assert_int_equal(sqlite_files_delete(m->dir, &del, ignore_file, NULL, NULL), 0);
	for (int i = 0; i < m->n; i++)
		m->all[i].deleted = m->all[i].deleted || is_in(&m->all[i], &in);
}

/* A window that was deleted is not taken again by its id, as its key stays. */
static void change_files(struct model *m)
{
	close_store(m);
	switch (below(m, 3)) {
	case 0:
		delete_some(m);
		break;
	case 1:
		assert_int_equal(sqlite_files_compact(m->dir, ignore_file, NULL, NULL), 0);
		break;
	default:
		break;
	}
	open_store(m);
}

/* Everything before a random time that is quiet gets sums and packs. */
static void roll_up(struct model *m)
{
	int64_t before = NOON + below(m, (SPAN + 3) * 60) * MINUTE;

	for (int i = 0; i < 2; i++)
		assert_int_equal(store_roll_up(m->s, before, NULL), 0);
}

static int64_t count_rows(const struct model *m, const char *sql)
{
	struct sqlite3 *db = NULL;
	int64_t n = -1;

	assert_int_equal(db_open(&db, m->path, DB_READ, NULL), 0);
	assert_int_equal(db_number(db, sql, &n, NULL), 0);
	db_close(db);
	return n;
}

static void init(struct model *m, unsigned int seed)
{
	*m = (struct model){ .dir = fixture_dir(), .seed = seed };
	day_files_path(m->dir, "anonymous", NUMBER, m->path);
	open_store(m);
}

static void fini(struct model *m)
{
	close_store(m);
	fixture_remove(m->dir);
}

static void results_equal_those_of_a_list(void **state)
{
	static struct model m;
	int64_t n_packs = 0;

	for (unsigned int seed = 1; seed <= 4; seed++) {
		init(&m, seed);
		for (int i = 0; i < 25; i++) {
			append_some(&m);
			if (below(&m, 2))
				roll_up(&m);
			if (below(&m, 4) == 0)
				change_files(&m);
			compare(&m);
		}
		n_packs += count_rows(&m, "SELECT count(*) FROM packs");
		fini(&m);
	}
	assert_true(n_packs > 30);
}

/* ---- single properties -------------------------------------------------------------- */

static void append_regular(struct model *m, int minutes)
{
	for (int i = 0; i < minutes; i++) {
		struct window *w = &m->all[m->n++];

		*w = (struct window){ .time_ns = NOON + i * MINUTE, .stacks = { 1, i } };
		snprintf(w->id, sizeof(w->id), "id-%d", m->n);
		append(m, w);
	}
}

static void pack(struct model *m)
{
	for (int i = 0; i < 2; i++)
		assert_int_equal(store_roll_up(m->s, NOON + 12 * HOUR, NULL), 0);
}

static void a_pack_replaces_the_rows_of_its_windows(void **state)
{
	static struct model m;

	init(&m, 1);
	append_regular(&m, 240);
	assert_int_equal(store_roll_up(m.s, NOON + 3 * HOUR - 1, NULL), 0);
	assert_int_equal(store_roll_up(m.s, NOON + 3 * HOUR - 1, NULL), 0);
	assert_int_equal(count_rows(&m, "SELECT count(*) FROM packs"),
			 0); /* not quiet for an hour */
	assert_int_equal(store_roll_up(m.s, NOON + 3 * HOUR, NULL), 0);
	assert_int_equal(count_rows(&m, "SELECT count(*) FROM packs"), 1);
	assert_int_equal(count_rows(&m, "SELECT count(*) FROM windows"), 120);
	assert_int_equal(count_rows(&m, "SELECT count(*) FROM blocks"), 120);
	compare(&m);
	pack(&m);
	assert_int_equal(count_rows(&m, "SELECT count(*) FROM packs"), 2);
	assert_int_equal(count_rows(&m, "SELECT count(*) FROM windows"), 0);
	assert_int_equal(count_rows(&m, "SELECT count(*) FROM sums"), 2);
	compare(&m);
	fini(&m);
}

static void late_windows_are_packed_again(void **state)
{
	static struct model m;
	struct window *late;

	init(&m, 2);
	append_regular(&m, 120);
	pack(&m);
	for (int i = 0; i < 3; i++) {
		late = &m.all[m.n++];
		*late = (struct window){ .time_ns = NOON + i * MINUTE + 1, .stacks = { 5 } };
		append(&m, late);
		compare(&m);
	}
	assert_int_equal(count_rows(&m, "SELECT windows FROM packs"), 120);
	pack(&m);
	assert_int_equal(count_rows(&m, "SELECT windows FROM packs"), 123);
	assert_int_equal(count_rows(&m, "SELECT count(*) FROM packed"), 1);
	compare(&m);
	fini(&m);
}

/* Numbers of packed windows are not used again, although their blocks are gone. */
static void windows_that_follow_have_new_numbers(void **state)
{
	static struct model m;

	init(&m, 3);
	append_regular(&m, 20);
	pack(&m);
	close_store(&m);
	open_store(&m);
	m.all[m.n] = (struct window){ .time_ns = NOON + 5 * HOUR, .stacks = { 2 } };
	append(&m, &m.all[m.n++]);
	close_store(&m);
	assert_int_equal(count_rows(&m, "SELECT max(id) FROM blocks"), 21);
	open_store(&m);
	compare(&m);
	fini(&m);
}

/* A process that ends before it deletes blocks leaves rows that the next one deletes. */
static void blocks_without_a_window_are_deleted_later(void **state)
{
	static struct model m;
	struct sqlite3 *db;

	init(&m, 4);
	append_regular(&m, 20);
	pack(&m);
	close_store(&m);
	db = fixture_database(m.path);
	assert_int_equal(db_exec(db, "INSERT INTO blocks VALUES(3, x''), (7, x'')", NULL), 0);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	open_store(&m);
	m.all[m.n] = (struct window){ .time_ns = NOON + 5 * HOUR, .stacks = { 2 } };
	append(&m, &m.all[m.n++]);
	pack(&m);
	close_store(&m);
	assert_int_equal(count_rows(&m, "SELECT count(*) FROM blocks"), 1);
	open_store(&m);
	fini(&m);
}

/* Windows of an older version are packed like the rest, and their ids are still found. */
static void windows_of_older_files_are_packed(void **state)
{
	for (int format = 1; format < DB_FORMAT; format++) {
		static struct model m;

		init(&m, 5);
		append_regular(&m, 30);
		close_store(&m);
		old_format_make(m.path, format);
		open_store(&m);
		compare(&m);
		pack(&m);
		compare(&m);
		close_store(&m);
		assert_int_equal(count_rows(&m, "SELECT windows FROM packs"), 30);
		open_store(&m);
		fini(&m);
	}
}

/* A thread that queries the total of everything until it is stopped. */
struct reader_thread {
	struct store *s;
	int64_t want;
	atomic_bool stop;
	atomic_int n, n_wrong;
};

static void *read_on(void *arg)
{
	const struct store_select sel = { .tenant = "anonymous",
					  .type = &type,
					  .end_ns = INT64_MAX };
	struct reader_thread *a = arg;

	while (!a->stop) {
		struct merged_stacks *st = NULL;

		a->n_wrong += store_merge(a->s, &sel, &st, NULL) < 0 || st->total != a->want;
		merged_stacks_free(st);
		a->n++;
	}
	return NULL;
}

static void queries_see_either_state(void **state)
{
	static struct model m;
	struct reader_thread a = { 0 };
	pthread_t thread;

	init(&m, 7);
	append_regular(&m, 300);
	a.s = m.s;
	for (int i = 0; i < m.n; i++)
		a.want += value_of(&m.all[i]);
	assert_int_equal(pthread_create(&thread, NULL, read_on, &a), 0);
	for (int64_t at = NOON; at < NOON + 9 * HOUR; at += 10 * MINUTE)
		assert_int_equal(store_roll_up(m.s, at, NULL), 0);
	while (a.n < 50)
		sched_yield();
	a.stop = true;
	pthread_join(thread, NULL);
	assert_int_equal(a.n_wrong, 0);
	assert_int_equal(count_rows(&m, "SELECT count(*) FROM packs"), 3);
	fini(&m);
}

/* Another process packs the store until it is killed at a random moment. */
static void pack_and_be_killed(struct model *m)
{
	int ready[2], status;
	pid_t child;
	char c;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		struct store_options opt = { .dir = m->dir };
		struct store *s = NULL;

		if (store_open(&s, &opt, NULL) < 0 || fixture_total(s, NULL, 0, INT64_MAX) < 0 ||
		    write(ready[1], "", 1) != 1)
			_exit(1);
		for (int64_t at = NOON;; at += 10 * MINUTE)
			store_roll_up(s, at, NULL);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	usleep((useconds_t)below(m, 60000)); /* any moment will do */
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	close(ready[0]);
	close(ready[1]);
}

static void a_killed_process_leaves_either_state(void **state)
{
	static struct model m;

	init(&m, 8);
	for (int i = 0; i < 10; i++) {
		append_some(&m);
		close_store(&m);
		pack_and_be_killed(&m);
		open_store(&m);
		compare(&m);
	}
	pack(&m);
	assert_true(count_rows(&m, "SELECT count(*) FROM packs") > 0);
	compare(&m);
	fini(&m);
}

static void every_kind_of_damage_is_found(void **state)
{
	static const struct {
		const char *sql, *part;
	} cases[] = {
		{ "UPDATE packs SET heads=zeroblob(length(heads))", "a pack" },
		{ "UPDATE packs SET heads=(SELECT data FROM packed)", "a pack" },
		{ "UPDATE packed SET data=zeroblob(length(data))", "a pack" },
		{ "UPDATE packs SET series=99", "a pack" },
		{ "UPDATE packs SET start=start+7200000000000", "a pack" },
		{ "UPDATE packs SET first=first+1", "a pack" },
		{ "UPDATE packs SET last=last+1", "a pack" },
		{ "UPDATE packs SET windows=windows+1", "of 30 windows" },
		{ "UPDATE packs SET block=block+1", "of 31 windows" },
		{ "DELETE FROM packs", "no heads" },
		{ "DELETE FROM packed", "a pack" },
		{ "INSERT INTO packed VALUES(9, x'')", "no heads" },
		{ "INSERT INTO gaps VALUES(2)", "of 28 windows" },
		{ "INSERT INTO times VALUES(4, x'010203')", "a pack" },
		{ "INSERT INTO times VALUES(99, x'')", "sample times" },
		{ "UPDATE sums SET head=(SELECT heads FROM packs)", "precomputed sum" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static struct model m;
		struct sqlite3 *db;
		struct day_check have;
		struct err err = { 0 };
		int r;

		init(&m, 6);
		append_regular(&m, 30);
		pack(&m);
		close_store(&m);
		db = fixture_database(m.path);
		if (sqlite3_exec(db, cases[i].sql, NULL, NULL, NULL) != SQLITE_OK)
			fail_msg("%s: %s", cases[i].sql, sqlite3_errmsg(db));
		sqlite3_close(db);
		r = day_check(m.path, NUMBER, &have, &err);
		if (r != -EBADMSG || !strstr(err.msg, cases[i].part))
			fail_msg("%s: %d, %s", cases[i].sql, r, err.msg);
		fixture_remove(m.dir);
	}
}

TEST_GROUP(test_day_pack, TEST(a_pack_replaces_the_rows_of_its_windows),
	   TEST(late_windows_are_packed_again), TEST(windows_that_follow_have_new_numbers),
	   TEST(blocks_without_a_window_are_deleted_later), TEST(windows_of_older_files_are_packed),
	   TEST(queries_see_either_state), TEST(a_killed_process_leaves_either_state),
	   TEST(every_kind_of_damage_is_found), TEST(results_equal_those_of_a_list))
