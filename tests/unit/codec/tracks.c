/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/common/tracks.h"

#include <string.h>

#include "base/strtab.h"
#include "codec/common/compact_ids.h"
#include "codec/text/text.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

static const char *frame_name(const struct tracks *t, uint32_t frame)
{
	return strtab_get(t->strings, t->frames.data[frame].name);
}

static void a_stack_is_a_row_of_frames_from_its_root(void **state)
{
	struct profile *p = fixture_small();
	struct tracks_stack row = { 0 };
	struct tracks t;

	assert_int_equal(tracks_init(&t, p), 0);
	assert_int_equal(tracks_stack(&t, profile_sample(p, 0).stack, &row), 0);
	assert_int_equal(row.len, 3);
	assert_string_equal(frame_name(&t, row.data[0]), "main");
	assert_string_equal(frame_name(&t, row.data[1]), "work");
	assert_string_equal(frame_name(&t, row.data[2]), "inlined");
	assert_int_equal(tracks_stack(&t, profile_sample(p, 1).stack, &row), 0);
	assert_int_equal(row.len, 3);
	assert_string_equal(frame_name(&t, row.data[1]), "[lib.so+0x234]");
	vec_fini(&row);
	tracks_fini(&t);
	profile_free(p);
}

static void equal_frames_have_one_id(void **state)
{
	static const char text[] = "a;b 1\nb;a 2\n";
	struct tracks_stack x = { 0 }, y = { 0 };
	struct profile *p;
	struct tracks t;

	assert_int_equal(folded_read(&p, text, strlen(text), NULL, NULL), 0);
	assert_int_equal(tracks_init(&t, p), 0);
	assert_int_equal(t.frames.len, 2);
	assert_int_equal(tracks_stack(&t, profile_sample(p, 0).stack, &x), 0);
	assert_int_equal(tracks_stack(&t, profile_sample(p, 1).stack, &y), 0);
	assert_int_equal(x.data[0], y.data[1]);
	assert_int_equal(x.data[1], y.data[0]);
	vec_fini(&x);
	vec_fini(&y);
	tracks_fini(&t);
	profile_free(p);
}

static void samples_belong_to_threads_by_their_labels(void **state)
{
	struct profile *p = fixture_small();
	struct tracks t;

	assert_int_equal(tracks_init(&t, p), 0);
	assert_int_equal(t.threads.len, 2);
	assert_int_equal(t.threads.data[t.thread_of[0]].pid, 7);
	assert_string_equal(t.threads.data[t.thread_of[0]].process, "sh");
	assert_int_equal(t.threads.data[t.thread_of[1]].pid, 0);
	assert_string_equal(t.threads.data[t.thread_of[1]].process, "");
	tracks_fini(&t);
	profile_free(p);
}

static void ids_are_numbered_from_1_until_they_are_reset(void **state)
{
	struct compact_ids c;

	assert_int_equal(compact_ids_init(&c, 10), 0);
	assert_int_equal(compact_ids_get(&c, 9), 1);
	assert_int_equal(compact_ids_get(&c, 4), 2);
	assert_int_equal(compact_ids_get(&c, 9), 1);
	assert_int_equal(c.ids.data[1], 4);
	compact_ids_reset(&c);
	assert_int_equal(compact_ids_get(&c, 4), 1);
	assert_int_equal(compact_ids_get(&c, 9), 2);
	assert_int_equal(c.error, 0);
	compact_ids_fini(&c);
}

TEST_GROUP(test_tracks, TEST(a_stack_is_a_row_of_frames_from_its_root),
	   TEST(equal_frames_have_one_id), TEST(samples_belong_to_threads_by_their_labels),
	   TEST(ids_are_numbered_from_1_until_they_are_reset))
