/* SPDX-License-Identifier: Apache-2.0 */
#include "server/ingest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../store/fixture.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "profile/profile.h"
#include "server/quota.h"
#include "server/rpc.h"
#include "tests/test.h"

static int label(struct ingest_labels *l, const char *name, const char *value, struct err *err)
{
	*err = (struct err){ 0 };
	return ingest_label(l, name, value, err);
}

static void labels_are_checked_one_by_one(void **state)
{
	struct ingest_labels l = { 0 };
	char name[1026], value[2050];
	struct err err;

	assert_int_equal(label(&l, NULL, "v", &err), -EINVAL);
	assert_int_equal(label(&l, "", "v", &err), -EINVAL);
	memset(name, 'n', sizeof(name));
	memset(value, 'v', sizeof(value));
	name[1025] = value[2049] = 0;
	assert_int_equal(label(&l, name, "", &err), -EINVAL);
	assert_int_equal(label(&l, "a", value, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "longer than"));
	name[1024] = value[2048] = 0;
	assert_int_equal(label(&l, name, value, &err), 0);
	assert_int_equal(label(&l, "a", NULL, &err), 0);
	assert_int_equal(label(&l, "a", "", &err), 0); /* the same again */
	assert_int_equal(label(&l, "a", "other", &err), -EINVAL);
	assert_non_null(strstr(err.msg, "\"a\" has two different values"));
	assert_int_equal(l.n, 2);
	assert_true(ingest_has_label(&l, "a"));
	assert_false(ingest_has_label(&l, "b"));
}

static void labels_for_the_server_are_not_stored(void **state)
{
	struct ingest_labels l = { 0 };
	struct err err;

	assert_int_equal(label(&l, "__name__", "process_cpu", &err), 0);
	assert_int_equal(label(&l, "__delta__", "false", &err), 0);
	assert_int_equal(label(&l, "__session_id__", "7", &err), 0);
	assert_int_equal(l.n, 0);
	assert_string_equal(l.name, "process_cpu");
}

static void a_series_has_at_most_40_labels(void **state)
{
	static char names[INGEST_MAX_LABELS + 1][16];
	struct ingest_labels l = { 0 };
	struct err err;

	for (int i = 0; i <= INGEST_MAX_LABELS; i++) {
		snprintf(names[i], sizeof(names[i]), "l%d", i);
		assert_int_equal(label(&l, names[i], "v", &err),
				 i < INGEST_MAX_LABELS ? 0 : -EINVAL);
	}
	/* the service's name still fits */
	ingest_labels_finish(&l, NULL);
	assert_int_equal(l.n, INGEST_MAX_LABELS + 1);
}

static void labels_are_sorted_and_have_a_service(void **state)
{
	static const struct {
		const char *own, *fallback, *service;
	} cases[] = { { "shop", "x", "shop" },
		      { "", "x", "x" },
		      { NULL, "x", "x" },
		      { NULL, NULL, "unknown_service" },
		      { "", "", "unknown_service" } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ingest_labels l = { 0 };
		struct err err;

		assert_int_equal(label(&l, "zone", "z", &err), 0);
		if (cases[i].own)
			assert_int_equal(label(&l, "service_name", cases[i].own, &err), 0);
		assert_int_equal(label(&l, "app", "a", &err), 0);
		ingest_labels_finish(&l, cases[i].fallback);
		assert_int_equal(l.n, 3);
		assert_string_equal(l.v[0].name, "app");
		assert_string_equal(l.v[1].name, "service_name");
		assert_string_equal(l.v[1].value, cases[i].service);
		assert_string_equal(l.v[2].name, "zone");
	}
}

static int add(struct ingest *in, int64_t time_ns, struct err *err)
{
	struct ingest_labels l = { .name = "process_cpu" };
	struct profile *p = fixture_profile("main 1\n");

	*err = (struct err){ 0 };
	ingest_labels_finish(&l, "shop");
	profile_meta(p)->time_ns = time_ns;
	return ingest_profile(in, &l, NULL, p, err);
}

static void a_timestamp_may_be_10_minutes_ahead(void **state)
{
	const int64_t minute = 60 * (int64_t)CLOCK_SECOND_NS;
	struct ingest in;
	struct err err;

	ingest_init(&in, 0);
	assert_int_equal(add(&in, in.now_ns + 10 * minute, &err), 0);
	assert_int_equal(add(&in, in.now_ns + 10 * minute + 1, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "in the future; check the clock of the sender"));
	assert_int_equal(add(&in, -1, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "before 1970"));
	assert_int_equal(add(&in, 0, &err), 0);
	assert_int_equal(in.profiles.len, 2);
	/* a profile without a time is of now, but has no time that could identify it */
	assert_true(in.profiles.data[1].time_ns == in.now_ns);
	assert_true(in.profiles.data[1].id_time_ns == 0);
	ingest_fini(&in);
}

static void a_request_has_at_most_10000_profiles(void **state)
{
	struct ingest in;
	struct err err;
	int n = 0;

	ingest_init(&in, 0);
	for (;;) {
		struct ingest_labels l = { .name = "process_cpu" };
		struct profile *p = NULL;

		err = (struct err){ 0 };
		assert_int_equal(profile_new(&p), 0);
		if (ingest_profile(&in, &l, NULL, p, &err) < 0)
			break;
		n++;
	}
	assert_int_equal(n, 10000);
	assert_non_null(strstr(err.msg, "more than 10000 profiles; split it"));
	ingest_fini(&in);
}

static void times_and_durations_are_within_bounds(void **state)
{
	const int64_t day = 86400 * (int64_t)CLOCK_SECOND_NS;
	static const struct {
		int64_t days;
		int r;
	} durations[] = { { -1, -EINVAL }, { 0, 0 }, { 366, 0 }, { 36500, -EINVAL } };
	struct ingest in;
	struct err err;

	ingest_init(&in, 2 * day);
	assert_int_equal(add(&in, in.now_ns - 2 * day, &err), 0);
	assert_int_equal(add(&in, in.now_ns - 2 * day - 1, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "older than the retention"));
	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
		struct ingest_labels l = { .name = "process_cpu" };
		struct profile *p = fixture_profile("main 1\n");

		err = (struct err){ 0 };
		profile_meta(p)->duration_ns = durations[i].days * day;
		assert_int_equal(ingest_profile(&in, &l, NULL, p, &err), durations[i].r);
		assert_int_equal(strstr(err.msg, "not within 0 to 366 days") != NULL,
				 durations[i].r != 0);
	}
	ingest_fini(&in);
}

/* A profile with one sample of @n labels. */
static struct profile *labelled_profile(int n)
{
	struct profile_label labels[100] = { 0 };
	struct profile_sample s = { .n_labels = (uint32_t)n, .labels = labels };
	const int64_t value = 1;
	struct profile *p = NULL;
	char text[16];

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	assert_int_equal(profile_add_stack(p, NULL, 0, &s.stack), 0);
	for (int i = 0; i < n; i++) {
		int len = snprintf(text, sizeof(text), "label%d", i);

		assert_int_equal(profile_add_string(p, text, (size_t)len, &labels[i].key), 0);
		labels[i].str = labels[i].key;
	}
	s.values = &value;
	assert_int_equal(profile_add_sample(p, &s), 0);
	return p;
}

/* "label0" is a label of both and counts once. */
static void series_and_sample_have_at_most_64_labels_together(void **state)
{
	static const struct {
		int n, r;
	} cases[] = { { 63, 0 }, { 64, -EINVAL }, { 100, -EINVAL } };
	struct ingest in;

	ingest_init(&in, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ingest_labels l = { .name = "process_cpu" };
		struct err err = { 0 };

		assert_int_equal(label(&l, "label0", "of the series", &err), 0);
		ingest_labels_finish(&l, "shop");
		assert_int_equal(ingest_profile(&in, &l, NULL, labelled_profile(cases[i].n), &err),
				 cases[i].r);
	}
	assert_int_equal(in.profiles.len, 1);
	ingest_fini(&in);
}

/* Names that are equal once they are clean count as one label. */
static void names_and_labels_are_lines_of_utf8(void **state)
{
	struct ingest_labels l = { 0 };
	const struct store_profile *p;
	struct err err = { 0 };
	struct ingest in;

	ingest_init(&in, 0);
	assert_int_equal(label(&l, "__name__", "cpu\xff", &err), 0);
	assert_int_equal(label(&l, "z\n", "1\x1b[31m", &err), 0);
	assert_int_equal(label(&l, "z ", "2", &err), 0);
	assert_int_equal(label(&l, "\x07", "\xc3\xa4\xc0\x80", &err), 0);
	ingest_labels_finish(&l, "shop\r");
	assert_int_equal(ingest_profile(&in, &l, NULL, labelled_profile(1), &err), 0);
	p = &in.profiles.data[0];
	assert_string_equal(p->name, "cpu\xef\xbf\xbd");
	assert_int_equal(p->n_labels, 3);
	assert_string_equal(p->labels[0].name, " ");
	assert_string_equal(p->labels[0].value, "\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd");
	assert_string_equal(p->labels[1].name, "service_name");
	assert_string_equal(p->labels[1].value, "shop ");
	assert_string_equal(p->labels[2].name, "z ");
	ingest_fini(&in);
}

static void only_errors_of_the_profile_itself_refuse_it(void **state)
{
	const struct err why = { -EINVAL, "first" }, other = { -EFBIG, "second" };
	struct ingest in;

	ingest_init(&in, 0);
	assert_int_equal(ingest_refuse(&in, -ENOMEM, &why), -ENOMEM);
	assert_int_equal(ingest_refuse(&in, -EIO, &why), -EIO);
	assert_int_equal(in.n_refused, 0);
	assert_int_equal(ingest_refuse(&in, -EINVAL, &why), 0);
	assert_int_equal(ingest_refuse(&in, -EFBIG, &other), 0);
	assert_int_equal(in.n_refused, 2);
	assert_int_equal(in.why.code, -EINVAL);
	assert_string_equal(in.why.msg, "first");
	ingest_fini(&in);
}

static void what_exceeds_the_quota_is_refused_alone(void **state)
{
	_cleanup_(quota_freep) struct quota *quota = NULL;
	char *dir = fixture_dir();
	struct store *store = fixture_open(dir);
	struct err err = { 0 };
	struct rpc rpc = { .store = store, .sink = store, .tenant = "anonymous", .err = &err };
	struct ingest in;

	assert_int_equal(quota_new(&quota, 1), 0);
	rpc.quota = quota;
	ingest_init(&in, 0);
	for (int i = 0; i < 2; i++) {
		struct ingest_labels l = { .name = "process_cpu" };
		struct profile *p = fixture_profile("main 1\n");

		profile_meta(p)->time_ns = NOON;
		assert_int_equal(ingest_label(&l, "pod", i ? "b" : "a", NULL), 0);
		ingest_labels_finish(&l, "shop");
		/* the clock of the machine does not matter here */
		in.now_ns = NOON;
		assert_int_equal(ingest_profile(&in, &l, NULL, p, NULL), 0);
	}
	assert_int_equal(ingest_store(&in, &rpc), 0);
	assert_int_equal(in.n_refused, 1);
	assert_int_equal(in.why.code, -EDQUOT);
	assert_non_null(strstr(in.why.msg, "more than 1 series"));
	assert_int_equal(fixture_total(store, "shop", 0, NOON + DAY), 10000000);
	/* without any other profile the request fails */
	in.profiles.len = 0;
	assert_int_equal(ingest_store(&in, &rpc), -EDQUOT);
	assert_non_null(strstr(err.msg, "more than 1 series"));
	ingest_fini(&in);
	store_close(store);
	fixture_remove(dir);
}

static void a_copied_text_lives_as_long_as_the_request(void **state)
{
	char text[] = "text";
	const char *copy;
	struct ingest in;

	ingest_init(&in, 0);
	copy = ingest_copy_text(&in, text);
	text[0] = 'n';
	assert_string_equal(copy, "text");
	ingest_fini(&in);
}

TEST_GROUP(test_ingest, TEST(labels_are_checked_one_by_one),
	   TEST(labels_for_the_server_are_not_stored), TEST(a_series_has_at_most_40_labels),
	   TEST(labels_are_sorted_and_have_a_service), TEST(a_timestamp_may_be_10_minutes_ahead),
	   TEST(a_request_has_at_most_10000_profiles), TEST(times_and_durations_are_within_bounds),
	   TEST(series_and_sample_have_at_most_64_labels_together),
	   TEST(names_and_labels_are_lines_of_utf8),
	   TEST(only_errors_of_the_profile_itself_refuse_it),
	   TEST(what_exceeds_the_quota_is_refused_alone),
	   TEST(a_copied_text_lives_as_long_as_the_request))
