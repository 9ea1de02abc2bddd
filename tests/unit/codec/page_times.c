/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/page/page_times.h"

#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "fixture.h"
#include "profile/profile.h"
#include "profile/tree.h"
#include "tests/test.h"

#define MS 1000000ULL

static void add(struct profile *p, const char *function, int64_t tid, const char *thread,
		const uint64_t *times, uint32_t n)
{
	struct profile_label labels[] = {
		{ .key = fixture_string(p, "pid"), .num = 7 },
		{ .key = fixture_string(p, "tid"), .num = tid },
		{ .key = fixture_string(p, "comm"), .str = fixture_string(p, "shop") },
		{ .key = fixture_string(p, "thread"), .str = fixture_string(p, thread) },
	};
	uint32_t location = fixture_location(p, PROFILE_NONE, 0, function);
	int64_t value = n;
	struct profile_sample s = {
		.n_labels = 4, .labels = labels, .values = &value, .n_times = n, .times = times
	};

	assert_int_equal(profile_add_stack(p, &location, 1, &s.stack), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
}

static char *written(const struct profile *p)
{
	struct page_times times = { 0 };
	struct tree *t;
	struct buf b = { 0 };
	struct json j = json_to(&b);

	assert_int_equal(tree_build(&t, p, NULL), 0);
	json_object(&j);
	assert_int_equal(page_times_collect(&times, p, t), 0);
	page_times_write(&times, &j);
	page_times_fini(&times);
	json_object_end(&j);
	buf_put_byte(&b, 0);
	tree_free(t);
	return (char *)b.data;
}

static void threads_have_their_samples_in_the_order_of_time(void **state)
{
	static const uint64_t a[] = { 5 * MS, 30 * MS }, b[] = { 10 * MS }, c[] = { 7 * MS };
	struct profile *p;
	char *text;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	add(p, "read", 9, "worker", a, 2);
	add(p, "write", 9, "worker", b, 1);
	add(p, "main", 8, "shop", c, 1);
	text = written(p);
	assert_string_equal(text, "{\"times\":{\"start_ns\":5000000,\"threads\":["
				  "{\"name\":\"shop\",\"process\":\"shop\",\"pid\":7,\"tid\":8,"
				  "\"at\":[2000],\"node\":[3]},"
				  "{\"name\":\"worker\",\"process\":\"shop\",\"pid\":7,\"tid\":9,"
				  "\"at\":[0,5000,20000],\"node\":[1,2,1]}]}}");
	free(text);
	profile_free(p);
}

static void a_profile_without_times_has_none(void **state)
{
	struct profile *p = fixture_small();
	char *text = written(p);

	assert_string_equal(text, "{}");
	free(text);
	profile_free(p);
}

TEST_GROUP(test_page_times, TEST(threads_have_their_samples_in_the_order_of_time),
	   TEST(a_profile_without_times_has_none))
