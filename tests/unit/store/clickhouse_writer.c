/* SPDX-License-Identifier: Apache-2.0 */
/* Inserted rows are read from the tables of a model of ClickHouse. */
#include "store/clickhouse/clickhouse_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "fake_clickhouse.h"
#include "fixture.h"
#include "profile/profile.h"
#include "store/clickhouse/clickhouse_http.h"
#include "store/store.h"
#include "tests/test.h"

struct scene {
	struct fake_clickhouse *fake;
	struct clickhouse_http *http;
	struct clickhouse_writer *w;
	struct err err;
};

static void begin(struct scene *s)
{
	char *url;

	*s = (struct scene){ .fake = fake_clickhouse_new() };
	url = fake_clickhouse_url(s->fake, "/cameo");
	assert_int_equal(clickhouse_http_new(&s->http, url, NULL), 0);
	assert_int_equal(clickhouse_writer_new(&s->w, s->http), 0);
	free(url);
}

static void end(struct scene *s)
{
	clickhouse_writer_free(s->w);
	clickhouse_http_free(s->http);
	fake_clickhouse_free(s->fake);
}

static int append(struct scene *s, const char *tenant, int64_t time_ns, const char *id,
		  const char *folded)
{
	_cleanup_(profile_freep) struct profile *p = fixture_profile(folded);
	static const struct store_label label = { "instance", "a" };
	const struct store_profile sp = { .name = "process_cpu",
					  .labels = &label,
					  .n_labels = 1,
					  .time_ns = time_ns,
					  .id = id,
					  .profile = p };

	s->err = (struct err){ 0 };
	return clickhouse_writer_append(s->w, tenant, &sp, 1, &s->err);
}

static void assert_rows(struct scene *s, size_t frames, size_t stacks, size_t series,
			size_t windows)
{
	assert_int_equal(fake_clickhouse_rows(s->fake, "frames"), frames);
	assert_int_equal(fake_clickhouse_rows(s->fake, "stacks"), stacks);
	assert_int_equal(fake_clickhouse_rows(s->fake, "series"), series);
	assert_int_equal(fake_clickhouse_rows(s->fake, "windows"), windows);
}

static const char folded[] = "main;f;g 2\nmain;f 3\nmain;h 4\n";

static void a_window_refers_only_to_rows_that_exist(void **state)
{
	struct scene s;

	begin(&s);
	assert_int_equal(append(&s, "t", NOON, NULL, folded), 0);
	assert_rows(&s, 4, 3, 1, 1);
	assert_int_equal(fake_clickhouse_value(s.fake,
					       "SELECT count(*) FROM counts WHERE stack NOT IN"
					       " (SELECT stack FROM stacks)"),
			 0);
	assert_int_equal(fake_clickhouse_value(s.fake,
					       "SELECT count(*) FROM stack_frames WHERE frame NOT"
					       " IN (SELECT frame FROM frames)"),
			 0);
	assert_int_equal(fake_clickhouse_value(s.fake,
					       "SELECT count(*) FROM windows WHERE series NOT IN"
					       " (SELECT series FROM series)"),
			 0);
	/* main;f;g from the root on */
	assert_int_equal(
		fake_clickhouse_value(s.fake,
				      "SELECT count(*) FROM stack_frames a JOIN frames USING"
				      " (frame) WHERE (pos, name) IN (VALUES (1,'main'), (2,'f'),"
				      " (3,'g'))"),
		3 + 2 + 1 - 0);
	end(&s);
}

static void values_are_in_the_order_of_types(void **state)
{
	struct scene s;

	begin(&s);
	assert_int_equal(append(&s, "t", NOON + 5, NULL, folded), 0);
	assert_int_equal(fake_clickhouse_value(s.fake, "SELECT sum(value) FROM counts WHERE k=0"),
			 9);
	assert_int_equal(fake_clickhouse_value(s.fake, "SELECT sum(value) FROM counts WHERE k=1"),
			 90000000);
	assert_int_equal(fake_clickhouse_value(s.fake,
					       "SELECT count(*) FROM counts a JOIN counts b USING"
					       " (stack) WHERE a.k=0 AND b.k=1 AND"
					       " b.value = a.value * 10000000"),
			 3);
	assert_int_equal(fake_clickhouse_value(s.fake, "SELECT value FROM totals WHERE k=1"), 9);
	assert_int_equal(fake_clickhouse_value(s.fake, "SELECT value FROM totals WHERE k=2"),
			 90000000);
	assert_int_equal(fake_clickhouse_value(s.fake, "SELECT time FROM windows"), NOON + 5);
	assert_int_equal(fake_clickhouse_value(s.fake, "SELECT day FROM windows"), NOON / DAY);
	assert_int_equal(fake_clickhouse_value(s.fake, "SELECT duration FROM windows"),
			 15000000000);
	assert_int_equal(fake_clickhouse_value(s.fake, "SELECT period FROM windows"), 10000000);
	assert_int_equal(fake_clickhouse_value(s.fake, "SELECT n_types FROM series"), 2);
	end(&s);
}

static void rows_that_are_stored_are_not_sent_again(void **state)
{
	struct scene s;

	begin(&s);
	assert_int_equal(append(&s, "t", NOON, NULL, folded), 0);
	assert_int_equal(append(&s, "t", NOON + 1, NULL, folded), 0);
	assert_rows(&s, 4, 3, 1, 2);
	assert_int_equal(append(&s, "t", NOON + 2, NULL, "main;f;new 1\n"), 0);
	assert_rows(&s, 5, 4, 1, 3);
	/* Each day's partition and each tenant's rows are complete. */
	assert_int_equal(append(&s, "t", NOON + DAY, NULL, folded), 0);
	assert_rows(&s, 9, 7, 2, 4);
	assert_int_equal(append(&s, "other", NOON, NULL, folded), 0);
	assert_rows(&s, 13, 10, 3, 5);
	clickhouse_writer_forget_known(s.w);
	assert_int_equal(append(&s, "t", NOON + 3, NULL, folded), 0);
	assert_rows(&s, 17, 13, 4, 6);
	end(&s);
}

static void servers_agree_on_hashes(void **state)
{
	struct scene a, b;

	begin(&a);
	begin(&b);
	assert_int_equal(append(&a, "t", NOON, "id", folded), 0);
	assert_int_equal(append(&b, "u", NOON + DAY, "id", folded), 0);
	for (int i = 0; i < 3; i++) {
		static const char *const sums[] = { "SELECT sum(stack % 65536) FROM stacks",
						    "SELECT sum(frame % 65536) FROM frames",
						    "SELECT series FROM series" };

		assert_int_equal(fake_clickhouse_value(a.fake, sums[i]),
				 fake_clickhouse_value(b.fake, sums[i]));
	}
	end(&a);
	end(&b);
}

static void a_profile_with_an_id_has_the_same_key_again(void **state)
{
	struct scene s;

	begin(&s);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(append(&s, "t", NOON, "id", folded), 0);
		assert_int_equal(append(&s, "t", NOON, "other", folded), 0);
		assert_int_equal(append(&s, "t", NOON, NULL, folded), 0);
		assert_int_equal(append(&s, "t", NOON, "", folded), 0);
	}
	assert_int_equal(fake_clickhouse_value(s.fake, "SELECT count(DISTINCT key) FROM windows"),
			 2 + 4);
	assert_int_equal(fake_clickhouse_value(s.fake, "SELECT count(*) FROM windows WHERE id=0"),
			 4);
	end(&s);
}

static void rows_of_a_failed_insertion_are_sent_again(void **state)
{
	static const char *const tables[] = { "cameo_frames", "cameo_stacks", "cameo_series",
					      "cameo_windows" };

	for (size_t i = 0; i < 4; i++) {
		struct scene s;

		begin(&s);
		fake_clickhouse_fail(s.fake, tables[i], 500, "Code: 243. no space", 1);
		assert_int_equal(append(&s, "t", NOON, NULL, folded), -ENOSPC);
		assert_string_equal(s.err.msg, "ClickHouse: Code: 243. no space");
		assert_int_equal(fake_clickhouse_rows(s.fake, "windows"), 0);
		assert_int_equal(append(&s, "t", NOON, NULL, folded), 0);
		assert_rows(&s, i > 0 ? 8 : 4, i > 1 ? 6 : 3, i > 2 ? 2 : 1, 1);
		end(&s);
	}
}

static void too_many_parts_are_waited_for(void **state)
{
	struct scene s;

	begin(&s);
	fake_clickhouse_fail(s.fake, "cameo_windows", 500, "Code: 252. Too many parts", 2);
	assert_int_equal(append(&s, "t", NOON, NULL, folded), 0);
	assert_rows(&s, 4, 3, 1, 1);
	assert_int_equal(fake_clickhouse_count(s.fake, "INSERT INTO cameo_windows"), 3);
	assert_int_equal(fake_clickhouse_count(s.fake, "INSERT INTO cameo_frames"), 1);
	end(&s);
}

static void profiles_of_two_days_succeed_or_fail_by_day(void **state)
{
	_cleanup_(profile_freep) struct profile *p = fixture_profile(folded);
	struct store_profile both[2] = { { .name = "x", .time_ns = NOON, .profile = p },
					 { .name = "x", .time_ns = NOON + DAY, .profile = p } };
	struct scene s;

	begin(&s);
	fake_clickhouse_fail(s.fake, "cameo_series", 500, "Code: 5. broken", 1);
	assert_int_equal(clickhouse_writer_append(s.w, "t", both, 2, NULL), -EIO);
	assert_int_equal(fake_clickhouse_rows(s.fake, "windows"), 1);
	assert_int_equal(fake_clickhouse_value(s.fake, "SELECT day FROM windows"), NOON / DAY + 1);
	end(&s);
}

static void nothing_is_inserted_for_a_profile_without_values(void **state)
{
	struct scene s;

	begin(&s);
	assert_int_equal(append(&s, "t", NOON, NULL, ""), 0);
	assert_int_equal(fake_clickhouse_count(s.fake, "INSERT"), 0);
	assert_int_equal(clickhouse_writer_append(s.w, "t", NULL, 0, NULL), 0);
	end(&s);
}

TEST_GROUP(test_clickhouse_writer, TEST(a_window_refers_only_to_rows_that_exist),
	   TEST(values_are_in_the_order_of_types), TEST(rows_that_are_stored_are_not_sent_again),
	   TEST(servers_agree_on_hashes), TEST(a_profile_with_an_id_has_the_same_key_again),
	   TEST(rows_of_a_failed_insertion_are_sent_again), TEST(too_many_parts_are_waited_for),
	   TEST(profiles_of_two_days_succeed_or_fail_by_day),
	   TEST(nothing_is_inserted_for_a_profile_without_values))
