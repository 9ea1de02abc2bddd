/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "fixture.h"
#include "profile/profile.h"
#include "store/matcher.h"
#include "tests/test.h"

#define MS 10000000LL

static void what_is_appended_is_found_again_after_reopening(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);

	assert_int_equal(fixture_append(s, "shop", "a", NOON, NULL, "main;serve 2\nmain;gc 1\n"),
			 0);
	assert_int_equal(fixture_append(s, "mail", "b", NOON, NULL, "main;send 7\n"), 0);
	assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), 3 * MS);
	store_close(s);
	s = fixture_open(dir);
	assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), 3 * MS);
	assert_int_equal(fixture_total(s, "mail", 0, INT64_MAX), 7 * MS);
	assert_int_equal(fixture_append(s, "shop", "a", NOON + 1, NULL, "main;serve;x 4\n"), 0);
	assert_int_equal(fixture_total(s, NULL, 0, INT64_MAX), 14 * MS);
	store_close(s);
	fixture_remove(dir);
}

static void both_ends_of_a_range_are_in_it(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);

	for (int i = 0; i < 5; i++)
		assert_int_equal(fixture_append(s, "shop", "a", NOON + i, NULL, "f 1\n"), 0);
	assert_int_equal(fixture_total(s, "shop", NOON + 1, NOON + 3), 3 * MS);
	assert_int_equal(fixture_total(s, "shop", NOON + 5, NOON + 9), 0);
	store_close(s);
	fixture_remove(dir);
}

static void the_same_profile_with_the_same_id_counts_once(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);

	assert_int_equal(fixture_append(s, "shop", "a", NOON, "id-1", "f 1\n"), 0);
	assert_int_equal(fixture_append(s, "shop", "a", NOON, "id-1", "f 1\n"), 0);
	assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), 1 * MS);
	store_close(s);
	s = fixture_open(dir);
	assert_int_equal(fixture_append(s, "shop", "a", NOON, "id-1", "f 1\n"), 0);
	assert_int_equal(fixture_append(s, "shop", "b", NOON, "id-1", "f 1\n"), 0);
	assert_int_equal(fixture_append(s, "shop", "a", NOON, NULL, "f 1\n"), 0);
	assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), 3 * MS);
	store_close(s);
	fixture_remove(dir);
}

static void totals_equal_what_was_appended(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);
	int64_t sums[4] = { 0 };
	unsigned int seed = 7;

	for (int i = 0; i < 300; i++) {
		char folded[4096] = "", service[2] = { (char)('a' + i % 4), 0 };
		int64_t time_ns = NOON - DAY + (int64_t)(rand_r(&seed) % 3) * DAY;
		size_t len = 0;

		for (int k = rand_r(&seed) % 20 + 1; k > 0; k--) {
			int n = rand_r(&seed) % 1000 + 1;

			len += (size_t)snprintf(folded + len, sizeof(folded) - len, "main");
			for (int depth = rand_r(&seed) % 6; depth > 0; depth--)
				len += (size_t)snprintf(folded + len, sizeof(folded) - len, ";f%d",
							rand_r(&seed) % 30);
			len += (size_t)snprintf(folded + len, sizeof(folded) - len, " %d\n", n);
			sums[i % 4] += n * MS;
		}
		assert_int_equal(fixture_append(s, service, "i", time_ns + i, NULL, folded), 0);
		if (i == 150) {
			store_close(s);
			s = fixture_open(dir);
		}
	}
	for (int i = 0; i < 4; i++) {
		char service[2] = { (char)('a' + i), 0 };

		assert_int_equal(fixture_total(s, service, 0, INT64_MAX), sums[i]);
	}
	store_close(s);
	fixture_remove(dir);
}

struct seen {
	char text[4096];
	int n;
};

static int see_series(void *ctx, const struct store_label *labels, size_t n)
{
	struct seen *seen = ctx;
	size_t len = strlen(seen->text);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(labels[i].name, "__profile_type__") ||
		    !strcmp(labels[i].name, "instance"))
			len += (size_t)snprintf(seen->text + len, sizeof(seen->text) - len, "%s ",
						labels[i].value);
	seen->n++;
	return 0;
}

static int see_point(void *ctx, const struct store_point *p)
{
	struct seen *seen = ctx;
	size_t len = strlen(seen->text);

	snprintf(seen->text + len, sizeof(seen->text) - len, "%lld=%lld ",
		 (long long)(p->time_ns - NOON), (long long)p->value);
	return 0;
}

static void a_sample_type_is_a_series(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);
	struct matcher *m = NULL;
	struct store_select sel = { .tenant = "anonymous", .end_ns = INT64_MAX, .matchers = &m };
	struct seen seen = { 0 };

	assert_int_equal(fixture_append(s, "shop", "a", NOON, NULL, "f 1\n"), 0);
	assert_int_equal(fixture_append(s, "shop", "b", NOON, NULL, "f 1\n"), 0);
	assert_int_equal(store_series(s, &sel, see_series, &seen, NULL), 0);
	assert_int_equal(seen.n, 4);
	assert_int_equal(matcher_new(&m, MATCHER_RE, "instance", "b|c", NULL), 0);
	sel.n_matchers = 1;
	seen = (struct seen){ 0 };
	assert_int_equal(store_series(s, &sel, see_series, &seen, NULL), 0);
	assert_string_equal(seen.text, "process_cpu:samples:count:cpu:nanoseconds b "
				       "process_cpu:cpu:nanoseconds:cpu:nanoseconds b ");
	sel.end_ns = NOON - 1;
	seen = (struct seen){ 0 };
	assert_int_equal(store_series(s, &sel, see_series, &seen, NULL), 0);
	assert_int_equal(seen.n, 0);
	matcher_free(m);
	store_close(s);
	fixture_remove(dir);
}

static void points_are_totals_or_those_of_a_call_site(void **state)
{
	static const char *const site[] = { "main", "serve" };
	const struct store_type type = { "process_cpu", "samples", "count", "cpu", "nanoseconds" };
	struct store_select sel = { .tenant = "anonymous", .type = &type, .end_ns = INT64_MAX };
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);
	struct seen seen = { 0 };

	assert_int_equal(fixture_append(s, "shop", "a", NOON, NULL,
					"main;serve 2\nmain;serve;x 3\nmain;gc 1\nserve 9\n"),
			 0);
	assert_int_equal(fixture_append(s, "shop", "a", NOON + 5, NULL, "main;serve;y 4\n"), 0);
	assert_int_equal(store_points(s, &sel, see_series, see_point, &seen, NULL), 0);
	assert_string_equal(seen.text, "process_cpu:samples:count:cpu:nanoseconds a 0=15 5=4 ");
	sel.call_site = site;
	sel.n_call_site = 2;
	seen = (struct seen){ 0 };
	assert_int_equal(store_points(s, &sel, see_series, see_point, &seen, NULL), 0);
	assert_string_equal(seen.text, "process_cpu:samples:count:cpu:nanoseconds a 0=5 5=4 ");
	store_close(s);
	fixture_remove(dir);
}

/* Append until killed; each acknowledged profile is one byte in the pipe. */
static void append_for_ever(const char *dir, int ack)
{
	struct store *s = fixture_open(dir);
	char folded[64];

	for (int i = 0;; i++) {
		snprintf(folded, sizeof(folded), "main;f%d;g%d 1\n", i % 7, i);
		if (fixture_append(s, "shop", "a", NOON + i, NULL, folded) != 0 ||
		    write(ack, "", 1) != 1)
			_exit(1);
	}
}

static void nothing_acknowledged_is_lost_by_kill_9(void **state)
{
	char *dir = fixture_dir();
	int64_t acknowledged = 0;

	for (int round = 0; round < 8; round++) {
		char bytes[256];
		int fds[2], status;
		int64_t total, want = acknowledged + 3 + round * 5;
		struct store *s;
		ssize_t n;
		pid_t pid;

		assert_int_equal(pipe(fds), 0);
		pid = fork();
		if (pid == 0)
			append_for_ever(dir, fds[1]);
		close(fds[1]);
		while (acknowledged < want && (n = read(fds[0], bytes, 1)) > 0)
			acknowledged += n;
		kill(pid, SIGKILL);
		while ((n = read(fds[0], bytes, sizeof(bytes))) > 0)
			acknowledged += n;
		waitpid(pid, &status, 0);
		close(fds[0]);
		assert_true(WIFSIGNALED(status));
		s = fixture_open(dir);
		total = fixture_total(s, "shop", 0, INT64_MAX) / MS;
		store_close(s);
		assert_in_range(total, acknowledged, acknowledged + 1);
		acknowledged = total;
	}
	fixture_remove(dir);
}

static void note_warning(void *ctx, const char *message)
{
	snprintf(ctx, 300, "%s", message);
}

/* The day's file of a store with one profile. */
static char *one_day(const char *dir)
{
	struct store *s = fixture_open(dir);
	char *path;

	assert_int_equal(fixture_append(s, "shop", "a", NOON, NULL, "main;f 1\n"), 0);
	store_close(s);
	assert_true(asprintf(&path, "%s/anonymous/2026-11-21.db", dir) > 0);
	return path;
}

static void expect_set_aside(const char *dir)
{
	struct store *s = NULL;
	char warning[300] = "";
	struct store_options opt = { .dir = dir, .warn = note_warning, .warn_ctx = warning };

	assert_int_equal(store_open(&s, &opt, NULL), 0);
	assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), 0);
	assert_non_null(strstr(warning, "set aside"));
	assert_int_equal(fixture_append(s, "shop", "a", NOON, NULL, "main;f 5\n"), 0);
	assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), 5 * MS);
	store_close(s);
}

static void a_truncated_file_is_set_aside(void **state)
{
	char *dir = fixture_dir();
	_cleanup_(freep) char *path = one_day(dir);

	assert_int_equal(truncate(path, 20000), 0);
	expect_set_aside(dir);
	fixture_remove(dir);
}

static void a_foreign_file_is_set_aside(void **state)
{
	char *dir = fixture_dir();
	_cleanup_(freep) char *path = one_day(dir);
	FILE *f = fopen(path, "w");

	for (int i = 0; i < 1000; i++)
		fputs("this is no database\n", f);
	fclose(f);
	expect_set_aside(dir);
	fixture_remove(dir);
}

static void old_days_are_dropped_by_age_and_by_bytes(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);
	struct store_usage usage;

	for (int i = 0; i < 5; i++)
		assert_int_equal(fixture_append(s, "shop", "a", NOON - i * DAY, NULL, "f 1\n"), 0);
	assert_int_equal(store_retain(s, NOON - 3 * DAY, 0, NOON, NULL), 1);
	assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), 4 * MS);
	assert_int_equal(store_usage(s, &usage, NULL), 0);
	assert_int_equal(usage.n_days, 4);
	assert_int_equal(store_retain(s, 0, usage.bytes - 1, NOON, NULL), 1);
	assert_int_equal(store_retain(s, 0, 1, NOON, NULL), 2);
	assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), 1 * MS);
	store_close(s);
	fixture_remove(dir);
}

/* A limit of file size stands for the end of the disk. */
static int fill_disk(const char *dir)
{
	const struct rlimit full = { 200000, RLIM_INFINITY },
			    room = { RLIM_INFINITY, RLIM_INFINITY };
	struct store *s = fixture_open(dir);
	int64_t n = 0;
	int r = 0;

	signal(SIGXFSZ, SIG_IGN);
	if (fixture_append(s, "shop", "a", NOON, NULL, "f 1\n") != 0)
		return 2;
	setrlimit(RLIMIT_FSIZE, &full);
	for (n = 1; n < 1000 && r == 0; n++) {
		char folded[64];

		snprintf(folded, sizeof(folded), "f%d;g 1\n", (int)n);
		r = fixture_append(s, "shop", "a", NOON + n, NULL, folded);
	}
	n--;
	if (r == 0 || fixture_total(s, "shop", 0, INT64_MAX) != n * MS)
		return 3;
	setrlimit(RLIMIT_FSIZE, &room);
	if (fixture_append(s, "shop", "a", NOON, NULL, "f 1\n") != 0)
		return 4;
	if (fixture_total(s, "shop", 0, INT64_MAX) != (n + 1) * MS)
		return 5;
	store_close(s);
	s = fixture_open(dir);
	r = fixture_total(s, "shop", 0, INT64_MAX) == (n + 1) * MS ? 0 : 6;
	store_close(s);
	return r;
}

static void a_full_disk_is_an_error_and_passes(void **state)
{
	char *dir = fixture_dir();
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(fill_disk(dir));
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	fixture_remove(dir);
}

static void refuses_what_it_cannot_keep(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir), *twice = NULL;
	struct store_label labels[70];
	char names[70][8];
	struct store_profile p = { .name = "x", .labels = labels, .n_labels = 70, .time_ns = NOON };
	struct profile *profile = fixture_profile("f 1\n");

	for (int i = 0; i < 70; i++) {
		snprintf(names[i], sizeof(names[i]), "l%02d", i);
		labels[i] = (struct store_label){ names[i], "v" };
	}
	p.profile = profile;
	assert_int_equal(store_append(s, "anonymous", &p, 1, NULL), -EINVAL);
	assert_int_equal(store_append(s, "../x", &p, 1, NULL), -EINVAL);
	assert_int_equal(fixture_append(s, "shop", "a", -5, NULL, "f 1\n"), -EINVAL);
	assert_int_equal(fixture_total(s, NULL, 0, INT64_MAX), 0);
	assert_int_equal(store_open(&twice, &(struct store_options){ .dir = dir }, NULL), -EBUSY);
	profile_free(profile);
	store_close(s);
	fixture_remove(dir);
}

TEST_GROUP(test_store, TEST(what_is_appended_is_found_again_after_reopening),
	   TEST(both_ends_of_a_range_are_in_it),
	   TEST(the_same_profile_with_the_same_id_counts_once),
	   TEST(totals_equal_what_was_appended), TEST(a_sample_type_is_a_series),
	   TEST(points_are_totals_or_those_of_a_call_site),
	   TEST(nothing_acknowledged_is_lost_by_kill_9), TEST(a_truncated_file_is_set_aside),
	   TEST(a_foreign_file_is_set_aside), TEST(old_days_are_dropped_by_age_and_by_bytes),
	   TEST(a_full_disk_is_an_error_and_passes), TEST(refuses_what_it_cannot_keep))
