/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/moment.h"

#include "tests/test.h"

enum { STACK_AT = 0x7000 };

/* A leaf, a loop, C between them, a loop, main. Return addresses lie below each CFA. */
static const struct unwind_moment five = {
	.n = 5,
	.frames = { { STACK_AT + 16, 0 },
		    { STACK_AT + 32, 1 },
		    { STACK_AT + 48, 0 },
		    { STACK_AT + 64, 1 },
		    { STACK_AT + 80, 0 } },
};

#define INNER     VM_FRAME_WORD(0, 1, 0x10)
#define MIDDLE    VM_FRAME_WORD(0, 1, 0x20) | VM_FRAME_LAST
#define OUTER     VM_FRAME_WORD(0, 1, 0x30) | VM_FRAME_LAST
#define UNREAD    VM_FRAME_WORD(0, 1, 0) | VM_FRAME_LAST
#define CHANGE(i) live[(i)*2 + 1]++

static size_t left_after(const uint64_t *copy, const uint64_t *live)
{
	return unwind_moment_ends(&five, STACK_AT, (const uint8_t *)copy, (const uint8_t *)live,
				  80);
}

static void frames_are_left_inside_of_the_outermost_change(void **state)
{
	uint64_t copy[10] = { 0 }, live[10] = { 0 };

	assert_int_equal(left_after(copy, live), 0);
	live[0] = live[2] = 1; /* what frames hold may change */
	assert_int_equal(left_after(copy, live), 0);
	CHANGE(0);
	assert_int_equal(left_after(copy, live), 1);
	CHANGE(3);
	assert_int_equal(left_after(copy, live), 4);
}

static void what_was_not_copied_is_not_compared(void **state)
{
	uint64_t copy[10] = { 0 }, live[10] = { 0 };

	CHANGE(2);
	assert_int_equal(unwind_moment_ends(&five, STACK_AT, (const uint8_t *)copy,
					    (const uint8_t *)live, 47),
			 0);
}

static void check_filtered(size_t n_left, bool whole, const uint64_t *want, size_t n_want)
{
	const uint64_t words[] = { INNER, 1, MIDDLE, 2, OUTER, 3 };
	uint64_t out[MOMENT_WORDS_MAX];

	assert_int_equal(unwind_moment_filter(&five, n_left, whole, words, 6, out), n_want);
	assert_memory_equal(out, want, n_want * sizeof(*want));
}

static void an_activation_that_was_left_is_a_frame_that_was_not_read(void **state)
{
	const uint64_t all[] = { INNER, 1, MIDDLE, 2, OUTER, 3 };
	const uint64_t outer[] = { UNREAD, 0, OUTER, 3 };
	const uint64_t none[] = { UNREAD, 0, UNREAD, 0 };

	check_filtered(1, true, all, 6);
	check_filtered(2, true, outer, 4);
	check_filtered(3, true, outer, 4);
	check_filtered(5, true, none, 4);
}

static void an_incomplete_stack_keeps_no_activation(void **state)
{
	const uint64_t none[] = { UNREAD, 0, UNREAD, 0 };

	check_filtered(1, false, none, 4);
}

static void activations_entered_since_are_dropped(void **state)
{
	const uint64_t words[] = { INNER | VM_FRAME_LAST, 1, MIDDLE, 2, OUTER, 3 };
	const uint64_t want[] = { MIDDLE, 2, OUTER, 3 };
	uint64_t out[MOMENT_WORDS_MAX];

	assert_int_equal(unwind_moment_filter(&five, 1, true, words, 6, out), 4);
	assert_memory_equal(out, want, sizeof(want));
}

static void machines_are_told_apart(void **state)
{
	const uint64_t other = VM_FRAME_WORD(1, 2, 0x40) | VM_FRAME_LAST;
	const uint64_t words[] = { OUTER, 3, other, 4 };
	struct unwind_moment m = five;
	uint64_t out[MOMENT_WORDS_MAX];

	m.frames[1].loop = 2;
	assert_int_equal(unwind_moment_filter(&m, 2, true, words, 4, out), 4);
	assert_int_equal(out[0], OUTER);
	assert_int_equal(out[2], VM_FRAME_WORD(1, 2, 0) | VM_FRAME_LAST);
	assert_int_equal(out[3], 0);
}

TEST_GROUP(test_moment, TEST(frames_are_left_inside_of_the_outermost_change),
	   TEST(what_was_not_copied_is_not_compared),
	   TEST(an_activation_that_was_left_is_a_frame_that_was_not_read),
	   TEST(an_incomplete_stack_keeps_no_activation),
	   TEST(activations_entered_since_are_dropped), TEST(machines_are_told_apart))
