/* SPDX-License-Identifier: Apache-2.0 */
#include "store/series.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "flame/stack_dict.h"
#include "profile/profile.h"
#include "store/block.h"
#include "store/matcher.h"
#include "tests/test.h"

struct text_label {
	const char *key, *str; /* str may be NULL for the number 7 */
};

static uint32_t string(struct profile *p, const char *s)
{
	uint32_t id;

	assert_int_equal(profile_add_string(p, s, strlen(s), &id), 0);
	return id;
}

/* A profile of @n_types sample types and one sample with these labels. */
static struct profile *make_profile(size_t n_types, const struct text_label *labels, uint32_t n)
{
	struct profile_label own[SERIES_MAX_LABELS + 1] = { 0 };
	int64_t values[BLOCK_MAX_TYPES + 1] = { 1 };
	struct profile_sample sample = { .values = values, .labels = own, .n_labels = n };
	struct profile *p = NULL;

	assert_int_equal(profile_new(&p), 0);
	for (size_t i = 0; i < n_types; i++) {
		char type[8];

		snprintf(type, sizeof(type), "t%zu", i % 100);
		assert_int_equal(profile_add_sample_type(p, type, "count"), 0);
	}
	profile_meta(p)->period_type.type = string(p, "cpu");
	profile_meta(p)->period_type.unit = string(p, "nanoseconds");
	for (uint32_t i = 0; i < n; i++) {
		own[i].key = string(p, labels[i].key);
		own[i].num = 7;
		if (labels[i].str)
			own[i].str = string(p, labels[i].str);
	}
	assert_int_equal(profile_add_stack(p, NULL, 0, &sample.stack), 0);
	assert_int_equal(profile_add_sample(p, &sample), 0);
	return p;
}

/* All labels of a series as text: "name=value,...". */
static const char *text_of(const struct stack_dict *d, uint32_t id, uint32_t k)
{
	static char text[2000];
	struct series_view v = { 0 };
	size_t len = 0;

	assert_int_equal(series_view(&v, d, id, k), 0);
	text[0] = 0;
	for (size_t i = 0; i < v.labels.len; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s=%s", i ? "," : "",
					v.labels.data[i].name, v.labels.data[i].value);
	series_view_fini(&v);
	return text;
}

static void a_series_has_its_labels_and_those_that_follow_from_it(void **state)
{
	const struct text_label sample[] = { { "thread", "main" }, { "region", "of the sample" },
					     { "bytes", NULL },    { "span_id", "1" },
					     { "trace_id", "2" },  { "profile_id", "3" } };
	const struct store_label labels[] = { { "__type__", "forged" },
					      { "region", "eu" },
					      { "service_name", "shop" } };
	_cleanup_(profile_freep) struct profile *p = make_profile(2, sample, 6);
	_cleanup_(stack_dict_freep) struct stack_dict *d = NULL;
	struct store_profile sp = {
		.name = "process_cpu", .labels = labels, .n_labels = 3, .profile = p
	};
	uint32_t id, again;

	assert_int_equal(stack_dict_new(&d), 0);
	assert_int_equal(series_of_sample(d, &sp, 0, &id), 0);
	assert_int_equal(series_of_sample(d, &sp, 0, &again), 0);
	assert_int_equal(id, again);
	assert_true(series_valid(d, id));
	assert_int_equal(series_n_types(d, id), 2);
	/* numbers and identities of a sample do not become labels; the profile's labels win */
	assert_string_equal(text_of(d, id, 1),
			    "__name__=process_cpu,__period_type__=cpu,"
			    "__period_unit__=nanoseconds,"
			    "__profile_type__=process_cpu:t1:count:cpu:nanoseconds,"
			    "__service_name__=shop,__type__=t1,__unit__=count,region=eu,"
			    "service_name=shop,thread=main");
}

static void a_type_is_compared_in_all_its_parts(void **state)
{
	_cleanup_(profile_freep) struct profile *p = make_profile(2, NULL, 0);
	_cleanup_(stack_dict_freep) struct stack_dict *d = NULL;
	struct store_profile sp = { .name = "x", .profile = p };
	const struct store_type good = { "x", "t1", "count", "cpu", "nanoseconds" };
	struct store_type t;
	uint32_t id;

	assert_int_equal(stack_dict_new(&d), 0);
	assert_int_equal(series_of_sample(d, &sp, 0, &id), 0);
	assert_true(series_is(d, id, 1, &good));
	assert_false(series_is(d, id, 0, &good));
	for (int i = 0; i < 5; i++) {
		t = good;
		((const char **)&t)[i] = "other";
		assert_false(series_is(d, id, 1, &t));
	}
}

static void the_limits_of_labels_and_types_are_inclusive(void **state)
{
	static const struct text_label extra[] = { { "extra", "e" } };
	_cleanup_(stack_dict_freep) struct stack_dict *d = NULL;
	struct store_label labels[SERIES_MAX_LABELS + 1];
	char names[SERIES_MAX_LABELS + 1][16];
	uint32_t id;

	for (int i = 0; i <= SERIES_MAX_LABELS; i++) {
		snprintf(names[i], sizeof(names[i]), "l%02d", i);
		labels[i] = (struct store_label){ names[i], "v" };
	}
	assert_int_equal(stack_dict_new(&d), 0);
	for (size_t types = BLOCK_MAX_TYPES; types <= BLOCK_MAX_TYPES + 1; types++) {
		for (size_t n = SERIES_MAX_LABELS - 1; n <= SERIES_MAX_LABELS + 1; n++) {
			_cleanup_(profile_freep) struct profile *p = make_profile(types, extra, 1);
			struct store_profile sp = {
				.name = "x", .labels = labels, .n_labels = n, .profile = p
			};
			bool fits = types <= BLOCK_MAX_TYPES && n < SERIES_MAX_LABELS;

			assert_int_equal(series_of_sample(d, &sp, 0, &id), fits ? 0 : -EINVAL);
		}
	}
}

/* Words: name, period type, period unit, number of types, then pairs of string ids. */
static void malformed_words_are_refused(void **state)
{
	static const struct {
		uint32_t words[8];
		size_t n;
		int r;
	} cases[] = {
		{ { 1, 0, 0, 0 }, 4, 0 },
		{ { 1, 0, 0, 1, 1, 1 }, 6, 0 },
		{ { 1, 0, 0, 1, 1, 1, 1, 1 }, 8, 0 },
		{ { 1, 0, 0 }, 3, -EBADMSG },           /* too short */
		{ { 1, 0, 0, 0, 1 }, 5, -EBADMSG },     /* half a pair */
		{ { 1, 0, 0, 2, 1, 1 }, 6, -EBADMSG },  /* a type is missing */
		{ { 1, 0, 0, 17, 1, 1 }, 6, -EBADMSG }, /* more types than there may be */
		{ { 2, 0, 0, 0 }, 4, -EBADMSG },        /* no such string */
		{ { 1, 0, 0, 1, 1, 9 }, 6, -EBADMSG },
		{ { 1, UINT32_MAX, 0, 0 }, 4, -EBADMSG },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(stack_dict_freep) struct stack_dict *d = NULL;
		uint32_t id;

		assert_int_equal(stack_dict_new(&d), 0);
		assert_int_equal(stack_dict_add_string(d, "name", 4, &id), 0);
		assert_int_equal(id, 1);
		assert_int_equal(series_add(d, cases[i].words, cases[i].n, &id), cases[i].r);
	}
}

static void a_missing_label_is_matched_as_empty(void **state)
{
	static const struct {
		enum matcher_op op;
		const char *name, *value;
		bool matches;
	} cases[] = {
		{ MATCHER_EQ, "region", "eu", true },   { MATCHER_EQ, "region", "us", false },
		{ MATCHER_NE, "region", "eu", false },  { MATCHER_EQ, "none", "", true },
		{ MATCHER_EQ, "none", "x", false },     { MATCHER_NE, "none", "x", true },
		{ MATCHER_RE, "__type__", "t.", true }, { MATCHER_RE, "__type__", "", false },
		{ MATCHER_NOT_RE, "none", ".+", true },
	};
	const struct store_label label = { "region", "eu" };
	_cleanup_(profile_freep) struct profile *p = make_profile(1, NULL, 0);
	_cleanup_(stack_dict_freep) struct stack_dict *d = NULL;
	struct store_profile sp = { .name = "x", .labels = &label, .n_labels = 1, .profile = p };
	struct series_view v = { 0 };
	uint32_t id;

	assert_int_equal(stack_dict_new(&d), 0);
	assert_int_equal(series_of_sample(d, &sp, 0, &id), 0);
	assert_int_equal(series_view(&v, d, id, 0), 0);
	assert_true(series_view_matches(&v, NULL, 0));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct matcher *m[2] = { NULL, NULL };

		assert_int_equal(
			matcher_new(&m[0], cases[i].op, cases[i].name, cases[i].value, NULL), 0);
		assert_int_equal(matcher_new(&m[1], MATCHER_EQ, "region", "eu", NULL), 0);
		assert_int_equal(series_view_matches(&v, m, 2), cases[i].matches);
		matcher_free(m[0]);
		matcher_free(m[1]);
	}
	series_view_fini(&v);
}

TEST_GROUP(test_series, TEST(a_series_has_its_labels_and_those_that_follow_from_it),
	   TEST(a_type_is_compared_in_all_its_parts),
	   TEST(the_limits_of_labels_and_types_are_inclusive), TEST(malformed_words_are_refused),
	   TEST(a_missing_label_is_matched_as_empty))
