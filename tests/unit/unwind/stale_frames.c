/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/stale_frames.h"

#include "tests/test.h"

enum { STACK_AT = 0x7000 };

/*
 * A leaf, an interpreter loop, a C function, another loop, main. Each return address lies below its
 * CFA.
 */
static const struct unwind_native_frames five = {
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
	return unwind_stale_count(&five, STACK_AT, (const uint8_t *)copy, (const uint8_t *)live,
				  80);
}

static void frames_inside_the_outermost_change_are_stale(void **state)
{
	uint64_t copy[10] = { 0 }, live[10] = { 0 };

	assert_int_equal(left_after(copy, live), 0);
	live[0] = live[2] = 1; /* the contents of frames may change */
	assert_int_equal(left_after(copy, live), 0);
	CHANGE(0);
	assert_int_equal(left_after(copy, live), 1);
	CHANGE(3);
	assert_int_equal(left_after(copy, live), 4);
}

static void words_outside_the_copy_are_not_compared(void **state)
{
	uint64_t copy[10] = { 0 }, live[10] = { 0 };

	CHANGE(2);
	assert_int_equal(unwind_stale_count(&five, STACK_AT, (const uint8_t *)copy,
					    (const uint8_t *)live, 47),
			 0);
}

static void check_filtered(size_t n_left, bool whole, const uint64_t *want, size_t n_want)
{
	const uint64_t words[] = { INNER, 1, MIDDLE, 2, OUTER, 3 };
	uint64_t out[STALE_WORDS_MAX];

	assert_int_equal(unwind_stale_replace(&five, n_left, whole, words, 6, out), n_want);
	assert_memory_equal(out, want, n_want * sizeof(*want));
}

static void an_activation_that_returned_becomes_an_unread_frame(void **state)
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
	uint64_t out[STALE_WORDS_MAX];

	assert_int_equal(unwind_stale_replace(&five, 1, true, words, 6, out), 4);
	assert_memory_equal(out, want, sizeof(want));
}

static void interpreters_are_distinguished(void **state)
{
	const uint64_t other = VM_FRAME_WORD(1, 2, 0x40) | VM_FRAME_LAST;
	const uint64_t words[] = { OUTER, 3, other, 4 };
	struct unwind_native_frames m = five;
	uint64_t out[STALE_WORDS_MAX];

	m.frames[1].loop = 2;
	assert_int_equal(unwind_stale_replace(&m, 2, true, words, 4, out), 4);
	assert_int_equal(out[0], OUTER);
	assert_int_equal(out[2], VM_FRAME_WORD(1, 2, 0) | VM_FRAME_LAST);
	assert_int_equal(out[3], 0);
}

TEST_GROUP(test_stale_frames, TEST(frames_inside_the_outermost_change_are_stale),
	   TEST(words_outside_the_copy_are_not_compared),
	   TEST(an_activation_that_returned_becomes_an_unread_frame),
	   TEST(an_incomplete_stack_keeps_no_activation),
	   TEST(activations_entered_since_are_dropped), TEST(interpreters_are_distinguished))
