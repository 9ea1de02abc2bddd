/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "fixture.h"
#include "profile/profile.h"
#include "store/block.h"
#include "store/sqlite/day_cache.h"
#include "store/store.h"
#include "tests/test.h"

enum { N_THREADS = 6, N_APPENDS = 15 };

struct place {
	char *dir;
	struct day_cache *days;
	struct writer *writer;
};

static void place_init(struct place *at)
{
	*at = (struct place){ .dir = fixture_dir() };
	assert_int_equal(day_cache_new(&at->days, at->dir, 0, NULL, NULL), 0);
	assert_int_equal(writer_new(&at->writer, at->days), 0);
}

static void stop(struct place *at)
{
	writer_free(at->writer);
	day_cache_free(at->days);
	at->writer = NULL;
	at->days = NULL;
}

static void place_fini(struct place *at)
{
	stop(at);
	fixture_remove(at->dir);
}

/* The total in samples that a store finds in the directory afterwards. */
static int64_t stored(struct place *at, int64_t start_ns, int64_t end_ns)
{
	struct store *s;
	int64_t sum;

	stop(at);
	s = fixture_open(at->dir);
	sum = fixture_total(s, NULL, start_ns, end_ns) / 10000000;
	store_close(s);
	return sum;
}

static struct store_profile profile_at(const struct profile *p, int64_t time_ns)
{
	static const struct store_label label = { "service_name", "shop" };

	return (struct store_profile){ .name = "process_cpu",
				       .labels = &label,
				       .n_labels = 1,
				       .time_ns = time_ns,
				       .profile = p };
}

struct appender {
	struct place *at;
	int number;
};

static void *append_many(void *arg)
{
	const struct appender *a = arg;
	_cleanup_(profile_freep) struct profile *p = fixture_profile("main;work 1\n");

	for (int i = 0; i < N_APPENDS; i++) {
		const struct store_profile sp =
			profile_at(p, NOON + a->number * 1000 + i + i % 3 * DAY);

		assert_int_equal(writer_append(a->at->writer, "anonymous", &sp, 1, NULL), 0);
	}
	return NULL;
}

static void threads_share_the_writer(void **state)
{
	_cleanup_(place_fini) struct place at;
	struct appender a[N_THREADS];
	pthread_t threads[N_THREADS];

	place_init(&at);
	for (int i = 0; i < N_THREADS; i++) {
		a[i] = (struct appender){ &at, i };
		assert_int_equal(pthread_create(&threads[i], NULL, append_many, &a[i]), 0);
	}
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(stored(&at, 0, INT64_MAX), N_THREADS * N_APPENDS);
}

/* A profile with more sample types than the store accepts. */
static struct profile *make_invalid(void)
{
	int64_t values[BLOCK_MAX_TYPES + 1] = { 1 };
	struct profile_sample sample = { .values = values };
	struct profile *p = NULL;

	assert_int_equal(profile_new(&p), 0);
	for (int i = 0; i <= BLOCK_MAX_TYPES; i++) {
		char type[16];

		snprintf(type, sizeof(type), "t%d", i);
		assert_int_equal(profile_add_sample_type(p, type, "count"), 0);
	}
	assert_int_equal(profile_add_stack(p, NULL, 0, &sample.stack), 0);
	assert_int_equal(profile_add_sample(p, &sample), 0);
	return p;
}

/* The profiles of a day are stored all or none. */
static void an_invalid_profile_fails_its_request(void **state)
{
	_cleanup_(profile_freep) struct profile *good = fixture_profile("main 1\n");
	_cleanup_(profile_freep) struct profile *bad = make_invalid();
	_cleanup_(place_fini) struct place at;
	struct store_profile sp[2];

	place_init(&at);
	sp[0] = profile_at(good, NOON);
	sp[1] = profile_at(bad, NOON + 1);
	assert_int_equal(writer_append(at.writer, "anonymous", sp, 2, NULL), -EINVAL);
	sp[0] = profile_at(good, NOON + 2);
	assert_int_equal(writer_append(at.writer, "anonymous", sp, 1, NULL), 0);
	assert_int_equal(stored(&at, 0, INT64_MAX), 1);
}

/* A request of two days, of which the second cannot be written, keeps nothing of the first. */
static void several_days_are_stored_all_or_none(void **state)
{
	_cleanup_(profile_freep) struct profile *p = fixture_profile("main 1\n");
	const struct store_profile sp[] = { profile_at(p, NOON), profile_at(p, NOON),
					    profile_at(p, NOON + DAY) };
	_cleanup_(place_fini) struct place at;
	char path[300];
	FILE *f;

	place_init(&at);
	snprintf(path, sizeof(path), "%s/anonymous", at.dir);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/anonymous/2026-11-22.db", at.dir);
	f = fopen(path, "we");
	assert_non_null(f);
	fprintf(f, "no database at all, but a text that is longer than a header would be\n");
	fclose(f);
	assert_int_equal(writer_append(at.writer, "anonymous", sp, 3, NULL), -EUCLEAN);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(writer_append(at.writer, "anonymous", sp + 2, 1, NULL), 0);
	assert_int_equal(stored(&at, 0, INT64_MAX), 1);
}

/* The process may have been killed between two commits. */
static void a_repeated_request_of_several_days_counts_once(void **state)
{
	_cleanup_(profile_freep) struct profile *p = fixture_profile("main 1\n");
	const struct store_profile sp[] = { profile_at(p, NOON), profile_at(p, NOON),
					    profile_at(p, NOON + DAY) };
	_cleanup_(place_fini) struct place at;

	place_init(&at);
	for (int i = 0; i < 2; i++)
		assert_int_equal(writer_append(at.writer, "anonymous", sp, 3, NULL), 0);
	assert_int_equal(stored(&at, 0, INT64_MAX), 3);
}

static void a_request_has_at_most_32_days(void **state)
{
	_cleanup_(profile_freep) struct profile *p = fixture_profile("main 1\n");
	_cleanup_(place_fini) struct place at;
	struct store_profile sp[33];
	struct err err = { 0 };

	place_init(&at);
	for (int i = 0; i < 33; i++)
		sp[i] = profile_at(p, NOON - i * DAY);
	assert_int_equal(writer_append(at.writer, "anonymous", sp, 33, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "more than 32 days"));
	assert_int_equal(writer_append(at.writer, "anonymous", sp, 32, NULL), 0);
	assert_int_equal(stored(&at, 0, INT64_MAX), 32);
}

static int count(void *ctx, struct err *err)
{
	int *n = ctx;

	return ++*n == 2 ? err_set(err, -EBUSY, "the second") : 0;
}

static void tasks_run_in_turn_with_their_results(void **state)
{
	_cleanup_(place_fini) struct place at;
	struct err err = { 0 };
	int n = 0;

	place_init(&at);
	assert_int_equal(writer_run(at.writer, count, &n, &err), 0);
	assert_int_equal(writer_run(at.writer, count, &n, &err), -EBUSY);
	assert_string_equal(err.msg, "the second");
	assert_int_equal(writer_run(at.writer, count, &n, NULL), 0);
	assert_int_equal(n, 3);
}

static void nothing_to_append_is_no_error(void **state)
{
	_cleanup_(place_fini) struct place at;

	place_init(&at);
	assert_int_equal(writer_append(at.writer, "anonymous", NULL, 0, NULL), 0);
	assert_int_equal(stored(&at, 0, INT64_MAX), 0);
}

static void a_directory_that_cannot_be_written_fails_the_request(void **state)
{
	_cleanup_(profile_freep) struct profile *p = fixture_profile("main 1\n");
	const struct store_profile sp = profile_at(p, NOON);
	struct day_cache *days = NULL;
	struct writer *w = NULL;
	struct err err = { 0 };

	assert_int_equal(day_cache_new(&days, "/proc/self", 0, NULL, NULL), 0);
	assert_int_equal(writer_new(&w, days), 0);
	assert_true(writer_append(w, "anonymous", &sp, 1, &err) < 0);
	assert_non_null(strstr(err.msg, "/proc/self/anonymous"));
	writer_free(w);
	day_cache_free(days);
}

TEST_GROUP(test_writer, TEST(threads_share_the_writer), TEST(an_invalid_profile_fails_its_request),
	   TEST(several_days_are_stored_all_or_none),
	   TEST(a_repeated_request_of_several_days_counts_once),
	   TEST(a_request_has_at_most_32_days), TEST(tasks_run_in_turn_with_their_results),
	   TEST(nothing_to_append_is_no_error),
	   TEST(a_directory_that_cannot_be_written_fails_the_request))
