/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/offcpu.h"

#include <string.h>

#include "tests/test.h"

enum { MS = 1000000, TIMES_MAX = 8, TID = 7 };

static const struct collect_thread thread = { .pid = 1, .tid = TID, .comm = "a" };
static const uint64_t stack[] = { 11, 12, 13 };

struct told {
	enum off_state state;
	uint64_t ns, count, leaf;
};

struct fixture {
	struct offcpu *o;
	struct told told[TIMES_MAX];
	bool is_thinned[TIMES_MAX];
	uint8_t place_plus_1[TIMES_MAX];
	size_t n;
};

static void on_time(void *ctx, const struct off_time *t)
{
	struct fixture *f = ctx;

	assert_true(f->n < TIMES_MAX && t->n_words);
	f->is_thinned[f->n] = t->is_thinned;
	f->place_plus_1[f->n] = t->place_plus_1;
	f->told[f->n++] = (struct told){ t->state, t->ns, t->count, t->words[0] };
}

static void fixture_init(struct fixture *f)
{
	*f = (struct fixture){ 0 };
	assert_int_equal(offcpu_new(&f->o, on_time, f), 0);
}

static void assert_told(const struct fixture *f, size_t i, struct told want)
{
	assert_true(i < f->n);
	assert_int_equal(f->told[i].state, want.state);
	assert_int_equal(f->told[i].ns, want.ns);
	assert_int_equal(f->told[i].count, want.count);
	assert_int_equal(f->told[i].leaf, want.leaf);
}

static void end(struct fixture *f, uint64_t out, uint64_t wake, uint64_t in, uint8_t shift)
{
	struct off_record r = { .head = { .type = RECORD_OFF,
					  .pid = 1,
					  .tid = TID,
					  .time_ns = out,
					  .off_state = OFF_SLEEPING,
					  .off_shift = shift },
				.wake_ns = wake,
				.in_ns = in };

	offcpu_end(f->o, &r, &thread);
}

static void cut(struct fixture *f, const struct off_thread *t, uint64_t now, bool is_last)
{
	assert_int_equal(offcpu_cut(f->o, TID, t, &thread, now, is_last), 0);
}

static void a_wait_is_told_with_its_stack_and_its_turn_apart(void **state)
{
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(offcpu_stack(f.o, &thread, 100, stack, 3), 0);
	end(&f, 100, 180, 200, 0);
	assert_int_equal(f.n, 2);
	assert_told(&f, 0, (struct told){ OFF_SLEEPING, 80, 1, 11 });
	assert_told(&f, 1, (struct told){ OFF_RUNNABLE, 20, 0, 11 });
	offcpu_free(f.o);
}

static void a_chosen_wait_stands_for_those_like_it(void **state)
{
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(offcpu_stack(f.o, &thread, 100, stack, 3), 0);
	end(&f, 100, 0, 110, 4);
	assert_int_equal(f.n, 1);
	assert_told(&f, 0, (struct told){ OFF_SLEEPING, 160, 16, 11 });
	offcpu_free(f.o);
}

static void what_chosen_waits_stand_for_is_the_kernels_sum(void **state)
{
	const uint64_t none = FRAME_WORD(FRAME_ERROR, OFF_NO_STACK);
	struct off_thread t = { .pid = 1, .places[0].thinned_ns = 240 };
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(offcpu_stack(f.o, &thread, 100, stack, 3), 0);
	end(&f, 100, 0, 110, 4);
	cut(&f, &t, 1000, false);
	assert_true(f.is_thinned[0]);
	assert_true(offcpu_scale(f.o, &thread, 0).thinned == 1.5); /* 240 of 160 */
	assert_true(offcpu_scale(f.o, &thread, 1).thinned == 1);   /* each place has its own */
	offcpu_next(f.o);
	assert_true(offcpu_scale(f.o, &thread, 0).thinned == 1);
	/* none was chosen in this window */
	t.places[0].thinned_ns = 300;
	cut(&f, &t, 2000, false);
	assert_int_equal(f.n, 2);
	assert_told(&f, 1, (struct told){ OFF_SLEEPING, 60, 1, none });
	assert_true(offcpu_scale(f.o, &thread, 0).thinned == 1);
	offcpu_free(f.o);
}

static void what_was_thinned_in_one_place_is_not_anothers(void **state)
{
	const uint64_t none = FRAME_WORD(FRAME_ERROR, OFF_NO_STACK);
	struct off_thread t = { .pid = 1 };
	struct off_record r = { .head = { .type = RECORD_OFF,
					  .pid = 1,
					  .tid = TID,
					  .time_ns = 100,
					  .off_state = OFF_SLEEPING,
					  .off_shift = 4,
					  .off_place = 3 },
				.in_ns = 110 };
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(offcpu_stack(f.o, &thread, 100, stack, 3), 0);
	offcpu_end(f.o, &r, &thread);
	t.places[3].thinned_ns = 320;
	t.places[4].thinned_ns = 70;
	t.places[5].thinned_ns = 7;
	cut(&f, &t, 1000, false);
	assert_int_equal(f.n, 2);
	assert_told(&f, 1, (struct told){ OFF_SLEEPING, 77, 1, none });
	assert_true(offcpu_scale(f.o, &thread, 3).thinned == 2);
	assert_true(offcpu_scale(f.o, &thread, 4).thinned == 1);
	/* a place that is none is no other's memory */
	r.head.off_place = 255;
	offcpu_end(f.o, &r, &thread);
	offcpu_free(f.o);
}

static void what_no_stack_was_chosen_of_is_the_only_one_of_its_place(void **state)
{
	const uint64_t none = FRAME_WORD(FRAME_ERROR, OFF_NO_STACK), other[] = { 14 };
	struct off_thread t = { .pid = 1, .places[0].thinned_ns = 50 };
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(offcpu_stack(f.o, &thread, 100, stack, 3), 0);
	end(&f, 100, 0, 200, 0);
	cut(&f, &t, 1000, false);
	assert_int_equal(f.n, 1);
	assert_true(offcpu_scale(f.o, &thread, 0).all == 1.5);
	offcpu_next(f.o);
	assert_true(offcpu_scale(f.o, &thread, 0).all == 1);
	/* now it has two */
	assert_int_equal(offcpu_stack(f.o, &thread, 1100, other, 1), 0);
	end(&f, 1100, 0, 1200, 0);
	t.places[0].thinned_ns = 90;
	cut(&f, &t, 2000, false);
	assert_int_equal(f.n, 3);
	assert_told(&f, 2, (struct told){ OFF_SLEEPING, 40, 1, none });
	assert_true(offcpu_scale(f.o, &thread, 0).all == 1);
	offcpu_free(f.o);
}

static void what_has_no_stack_is_no_stack_of_its_place(void **state)
{
	struct off_thread t = { .pid = 1, .places[0].thinned_ns = 50 };
	struct fixture f;

	fixture_init(&f);
	end(&f, 10, 0, 90, 0); /* its stack was lost */
	assert_int_equal(offcpu_stack(f.o, &thread, 100, stack, 3), 0);
	end(&f, 100, 0, 200, 0);
	cut(&f, &t, 1000, false);
	assert_int_equal(f.n, 2);
	assert_int_equal(f.place_plus_1[0], 0);
	assert_int_equal(f.place_plus_1[1], 1);
	assert_true(offcpu_scale(f.o, &thread, 0).all == 1.5);
	offcpu_free(f.o);
}

/* The clock that measures waits is not the one by which windows end. */
static void what_ended_before_it_was_cut_has_no_time_left(void **state)
{
	const uint64_t none = FRAME_WORD(FRAME_ERROR, OFF_NO_STACK);
	struct off_thread t = {
		.out_ns = 100, .pid = 1, .state = OFF_SLEEPING, .chosen = OFF_CHOSEN
	};
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(offcpu_stack(f.o, &thread, 100, stack, 3), 0);
	cut(&f, &t, 300, false);
	offcpu_next(f.o);
	end(&f, 100, 0, 290, 0);
	t = (struct off_thread){ .pid = 1, .places[0].thinned_ns = 50 };
	cut(&f, &t, 1000, false);
	assert_int_equal(f.n, 2);
	assert_told(&f, 0, (struct told){ OFF_SLEEPING, 200, 1, 11 });
	assert_told(&f, 1, (struct told){ OFF_SLEEPING, 50, 1, none });
	assert_true(offcpu_scale(f.o, &thread, 0).all == 1);
	offcpu_free(f.o);
}

static void a_thread_that_ends_is_settled_with_its_window(void **state)
{
	struct off_last_record last = { .head = { .type = RECORD_OFF_LAST, .pid = 1, .tid = TID },
					.thinned_ns = { 80 } };
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(offcpu_stack(f.o, &thread, 100, stack, 3), 0);
	end(&f, 100, 0, 110, 4);
	offcpu_last(f.o, &last, &thread);
	assert_true(offcpu_scale(f.o, &thread, 0).thinned == 0.5);
	offcpu_next(f.o);
	assert_int_equal(offcpu_count(f.o), 0);
	/* one that has its number already began anew */
	end(&f, 200, 0, 210, 4);
	offcpu_last(f.o, &last, &thread);
	assert_int_equal(offcpu_stack(f.o, &thread, 300, stack, 3), 0);
	assert_true(offcpu_scale(f.o, &thread, 0).thinned == 1);
	offcpu_free(f.o);
}

static void a_wait_whose_stack_is_lost_is_told_without(void **state)
{
	const uint64_t none = FRAME_WORD(FRAME_ERROR, OFF_NO_STACK);
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(offcpu_stack(f.o, &thread, 100, stack, 3), 0);
	end(&f, 300, 0, 350, 0);
	assert_int_equal(f.n, 1);
	assert_told(&f, 0, (struct told){ OFF_SLEEPING, 50, 1, none });
	offcpu_free(f.o);
}

static void what_is_cut_by_a_window_is_counted_once(void **state)
{
	struct off_thread t = {
		.out_ns = 100 * MS, .pid = 1, .state = OFF_SLEEPING, .chosen = OFF_CHOSEN
	};
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(offcpu_stack(f.o, &thread, 100 * MS, stack, 3), 0);
	cut(&f, &t, 400 * MS, false);
	cut(&f, &t, 900 * MS, false);
	end(&f, 100 * MS, 950 * MS, 1000 * MS, 0);
	assert_int_equal(f.n, 4);
	assert_told(&f, 0, (struct told){ OFF_SLEEPING, 300 * MS, 1, 11 });
	assert_told(&f, 1, (struct told){ OFF_SLEEPING, 500 * MS, 0, 11 });
	assert_told(&f, 2, (struct told){ OFF_SLEEPING, 50 * MS, 0, 11 });
	assert_told(&f, 3, (struct told){ OFF_RUNNABLE, 50 * MS, 0, 11 });
	/* the kernel's state was read before the wait's end was */
	cut(&f, &t, 1100 * MS, true);
	assert_int_equal(f.n, 4);
	offcpu_free(f.o);
}

static void a_wait_that_is_not_over_is_told_if_it_is_known_what_it_stands_for(void **state)
{
	struct off_thread t = {
		.out_ns = 100 * MS, .pid = 1, .state = OFF_DISK, .shift = 3, .chosen = OFF_CHOSEN
	};
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(offcpu_stack(f.o, &thread, 100 * MS, stack, 3), 0);
	cut(&f, &t, 101 * MS, false); /* it may get long, and stand for itself */
	assert_int_equal(f.n, 0);
	cut(&f, &t, 101 * MS, true);
	assert_int_equal(f.n, 1);
	assert_told(&f, 0, (struct told){ OFF_DISK, 1 * MS, 1, 11 });
	offcpu_free(f.o);
}

static void a_long_wait_that_is_not_over_is_told_without_a_stack_too(void **state)
{
	struct off_thread t = { .out_ns = 100 * MS, .pid = 1, .state = OFF_SLEEPING, .shift = 3 };
	struct fixture f;

	fixture_init(&f);
	cut(&f, &t, 100 * MS + OFF_LONG_NS, false);
	assert_int_equal(f.n, 1);
	assert_told(&f, 0,
		    (struct told){ OFF_SLEEPING, OFF_LONG_NS, 1,
				   FRAME_WORD(FRAME_ERROR, OFF_NO_STACK) });
	/* now it was asked */
	assert_int_equal(offcpu_stack(f.o, &thread, 100 * MS, stack, 3), 0);
	end(&f, 100 * MS, 0, 150 * MS + OFF_LONG_NS, 0);
	assert_told(&f, 1, (struct told){ OFF_SLEEPING, 50 * MS, 0, 11 });
	offcpu_free(f.o);
}

static void time_without_stacks_is_told_as_it_grows(void **state)
{
	const uint64_t none = FRAME_WORD(FRAME_ERROR, OFF_NO_STACK);
	struct off_thread t = { .pid = 1, .untaken_ns = 30, .untaken_queued_ns = 4 };
	struct off_last_record last = { .head = { .type = RECORD_OFF_LAST, .pid = 1, .tid = TID },
					.untaken_ns = 50,
					.untaken_queued_ns = 4 };
	struct fixture f;

	fixture_init(&f);
	cut(&f, &t, 1000, false);
	cut(&f, &t, 2000, false);
	assert_int_equal(f.n, 2);
	assert_told(&f, 0, (struct told){ OFF_SLEEPING, 30, 1, none });
	assert_told(&f, 1, (struct told){ OFF_RUNNABLE, 4, 0, none });
	offcpu_last(f.o, &last, &thread);
	assert_int_equal(f.n, 3);
	assert_told(&f, 2, (struct told){ OFF_SLEEPING, 20, 1, none });
	offcpu_next(f.o);
	assert_int_equal(offcpu_count(f.o), 0);
	offcpu_free(f.o);
}

static void threads_come_and_go_without_a_trace(void **state)
{
	struct fixture f;
	size_t bytes = 0;

	fixture_init(&f);
	for (uint32_t i = 1; i <= 100000; i++) {
		struct collect_thread t = { .pid = i, .tid = i };

		assert_int_equal(offcpu_stack(f.o, &t, i, stack, 3), 0);
		assert_true(offcpu_knows(f.o, i));
		offcpu_forget(f.o, i);
		assert_false(offcpu_knows(f.o, i));
		if (i == 1)
			bytes = offcpu_bytes(f.o);
	}
	assert_int_equal(offcpu_bytes(f.o), bytes);
	assert_int_equal(f.n, 0);
	offcpu_free(f.o);
}

static void a_threads_first_turn_is_no_stack_that_was_missed(void **state)
{
	struct off_record r = { .head = { .type = RECORD_OFF,
					  .pid = 1,
					  .tid = TID,
					  .time_ns = 5,
					  .off_state = OFF_NEW },
				.wake_ns = 5,
				.in_ns = 9 };
	struct fixture f;

	fixture_init(&f);
	offcpu_end(f.o, &r, &thread);
	assert_told(&f, 0, (struct told){ OFF_NEW, 4, 1, FRAME_WORD(FRAME_ERROR, OFF_NEW_THREAD) });
	assert_string_equal(off_word_text(OFF_NEW_THREAD), "[thread not started]");
	assert_string_equal(off_word_text(OFF_NO_STACK), "[stack not taken]");
	assert_string_equal(off_state_text(OFF_DISK), "uninterruptible");
	offcpu_free(f.o);
}

TEST_GROUP(test_offcpu, TEST(a_wait_is_told_with_its_stack_and_its_turn_apart),
	   TEST(a_chosen_wait_stands_for_those_like_it),
	   TEST(a_wait_whose_stack_is_lost_is_told_without),
	   TEST(what_chosen_waits_stand_for_is_the_kernels_sum),
	   TEST(what_was_thinned_in_one_place_is_not_anothers),
	   TEST(what_no_stack_was_chosen_of_is_the_only_one_of_its_place),
	   TEST(what_has_no_stack_is_no_stack_of_its_place),
	   TEST(what_ended_before_it_was_cut_has_no_time_left),
	   TEST(a_thread_that_ends_is_settled_with_its_window),
	   TEST(what_is_cut_by_a_window_is_counted_once),
	   TEST(a_wait_that_is_not_over_is_told_if_it_is_known_what_it_stands_for),
	   TEST(a_long_wait_that_is_not_over_is_told_without_a_stack_too),
	   TEST(time_without_stacks_is_told_as_it_grows), TEST(threads_come_and_go_without_a_trace),
	   TEST(a_threads_first_turn_is_no_stack_that_was_missed))
