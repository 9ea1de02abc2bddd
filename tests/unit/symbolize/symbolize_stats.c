/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of resolved frames change the counts of their language, error and program. */
#include "symbolize/symbolize_stats.h"

#include <string.h>

#include "symbolize/frame_symbols.h"
#include "tests/test.h"

static const struct frame_location words[] = {
	{ .kind = PROFILE_FRAME_KERNEL },
	{ .kind = PROFILE_FRAME_NATIVE },
	{ .kind = PROFILE_FRAME_PYTHON, .is_approximate = true },
	{ .kind = PROFILE_FRAME_UNKNOWN,
	  .word = FRAME_WORD(FRAME_ADDRESS, 1),
	  .lost = NAME_LOSS_GENERATED },
	{ .kind = PROFILE_FRAME_ERROR, .word = FRAME_WORD(FRAME_ERROR, WALK_ERR_NO_RULE) },
};

static void count(struct symbolize_stats *st, const char *comm, uint64_t n_samples,
		  bool is_searched, const uint32_t *refs, size_t n)
{
	const struct symbolize_stats_sample s = { .words = words,
						  .refs = refs,
						  .n = n,
						  .comm = comm,
						  .count = n_samples,
						  .event = 1,
						  .is_searched = is_searched };

	symbolize_stats_count(st, &s);
}

static void the_most_specific_frame_is_the_language(void **state)
{
	const uint32_t mixed[] = { 0, 1, 2, 1 }, native[] = { 0, 1 };
	struct symbolize_stats st = { 0 };

	count(&st, "a", 3, false, mixed, 4);
	count(&st, "a", 2, false, native, 2);
	count(&st, "a", 1, false, native, 1);
	count(&st, "a", 1, false, native, 0);
	assert_int_equal(st.by_kind[PROFILE_FRAME_PYTHON][WALK_OK], 3);
	assert_int_equal(st.by_kind[PROFILE_FRAME_NATIVE][WALK_OK], 2);
	assert_int_equal(st.by_kind[PROFILE_FRAME_KERNEL][WALK_OK], 1);
	assert_int_equal(st.by_kind[PROFILE_FRAME_UNKNOWN][WALK_OK], 1);
	assert_int_equal(st.n_frames, 3 * 4 + 2 * 2 + 1);
	assert_int_equal(st.n_approximate, 3);
	assert_int_equal(st.by_event[1], 7);
	assert_int_equal(st.n_unnamed, 0);
}

static void an_incomplete_stack_counts_by_its_error_and_not_as_searched(void **state)
{
	const uint32_t incomplete[] = { 1, 4 }, complete[] = { 1 };
	struct symbolize_stats st = { 0 };

	count(&st, "a", 2, true, incomplete, 2);
	count(&st, "a", 3, true, complete, 1);
	assert_int_equal(st.by_kind[PROFILE_FRAME_NATIVE][WALK_ERR_NO_RULE], 2);
	assert_int_equal(st.searched_by_kind[PROFILE_FRAME_NATIVE], 3);
	assert_int_equal(st.by_kind[PROFILE_FRAME_NATIVE][WALK_OK], 0);
	assert_int_equal(st.n_frames, 5);
}

static void the_program_with_most_generated_code_without_symbols_is_found(void **state)
{
	const uint32_t twice[] = { 3, 3 };
	struct symbolize_stats st = { 0 }, sum = { 0 };

	count(&st, "first", 2, false, twice, 2);
	count(&st, "most", 4, false, twice, 2);
	count(&st, "last", 1, false, twice, 2);
	assert_string_equal(st.generated_by, "most");
	assert_int_equal(st.n_generated, 7);
	assert_int_equal(st.n_unnamed, 14);
	assert_int_equal(st.names_lost[NAME_LOSS_GENERATED], 14);

	symbolize_stats_add(&sum, &st);
	symbolize_stats_add(&sum, &st);
	assert_int_equal(sum.names_lost[NAME_LOSS_GENERATED], 28);
	assert_int_equal(sum.n_frames, 28);
	assert_int_equal(sum.by_kind[PROFILE_FRAME_UNKNOWN][WALK_OK], 14);
}

TEST_GROUP(test_symbolize_stats, TEST(the_most_specific_frame_is_the_language),
	   TEST(an_incomplete_stack_counts_by_its_error_and_not_as_searched),
	   TEST(the_program_with_most_generated_code_without_symbols_is_found))
