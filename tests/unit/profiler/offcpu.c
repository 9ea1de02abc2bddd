/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/offcpu.h"

#include <string.h>

#include "tests/test.h"

enum { MS = 1000000, TIMES_MAX = 8, TID = 7 };

static const struct sample_counts_thread thread = { .pid = 1, .tid = TID, .comm = "a" };
static const uint64_t stack[] = { 11, 12, 13 };

struct reported {
	enum off_state state;
	uint64_t ns, count, leaf;
};

struct fixture {
	struct offcpu *o;
	struct reported reported[TIMES_MAX];
	bool is_thinned[TIMES_MAX];
	uint8_t place_plus_1[TIMES_MAX];
	size_t n;
};

static void on_time(void *ctx, const struct offcpu_time *t)
{
	struct fixture *f = ctx;

	assert_true(f->n < TIMES_MAX && t->n_words);
	f->is_thinned[f->n] = t->is_thinned;
	f->place_plus_1[f->n] = t->place_plus_1;
	f->reported[f->n++] = (struct reported){ t->state, t->ns, t->count, t->words[0] };
}

static void fixture_init(struct fixture *f)
{
	*f = (struct fixture){ 0 };
	assert_int_equal(offcpu_new(&f->o, on_time, f), 0);
}

static void assert_reported(const struct fixture *f, size_t i, struct reported want)
{
	assert_true(i < f->n);
	assert_int_equal(f->reported[i].state, want.state);
	assert_int_equal(f->reported[i].ns, want.ns);
	assert_int_equal(f->reported[i].count, want.count);
	assert_int_equal(f->reported[i].leaf, want.leaf);
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

	offcpu_end_wait(f->o, &r, &thread);
}

static void cut(struct fixture *f, const struct off_thread *t, uint64_t now, bool is_last)
{
	assert_int_equal(offcpu_end_window(f->o, TID, t, &thread, now, is_last), 0);
}

static void a_wait_and_its_time_on_the_run_queue_are_separate(void **state)
{
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(offcpu_add_stack(f.o, &thread, NULL, 100, stack, 3), 0);
	end(&f, 100, 180, 200, 0);
	assert_int_equal(f.n, 2);
	assert_reported(&f, 0, (struct reported){ OFF_SLEEPING, 80, 1, 11 });
	assert_reported(&f, 1, (struct reported){ OFF_RUNNABLE, 20, 0, 11 });
	offcpu_free(f.o);
}

static void a_chosen_wait_represents_similar_waits(void **state)
{
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(offcpu_add_stack(f.o, &thread, NULL, 100, stack, 3), 0);
	end(&f, 100, 0, 110, 4);
	assert_int_equal(f.n, 1);
	assert_reported(&f, 0, (struct reported){ OFF_SLEEPING, 160, 16, 11 });
	offcpu_free(f.o);
}

static void chosen_waits_are_scaled_to_the_kernels_sum(void **state)
{
	const uint64_t none = FRAME_WORD(FRAME_ERROR, OFFCPU_ERR_NO_STACK);
	struct off_thread t = { .pid = 1, .places[0].thinned_ns = 240 };
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(offcpu_add_stack(f.o, &thread, NULL, 100, stack, 3), 0);
	end(&f, 100, 0, 110, 4);
	cut(&f, &t, 1000, false);
	assert_true(f.is_thinned[0]);
	/* The kernel's sum is 240 ns, and the chosen waits represent 160 ns. */
	assert_true(offcpu_scale(f.o, &thread, 0).thinned == 1.5);
	/* Each place has its own factor. */
	assert_true(offcpu_scale(f.o, &thread, 1).thinned == 1);
	offcpu_begin_window(f.o);
	assert_true(offcpu_scale(f.o, &thread, 0).thinned == 1);
	/* no wait was reported in this window */
	t.places[0].thinned_ns = 300;
	cut(&f, &t, 2000, false);
	assert_int_equal(f.n, 2);
	assert_reported(&f, 1, (struct reported){ OFF_SLEEPING, 60, 1, none });
	assert_true(offcpu_scale(f.o, &thread, 0).thinned == 1);
	offcpu_free(f.o);
}

static void thinned_time_is_not_moved_between_places(void **state)
{
	const uint64_t none = FRAME_WORD(FRAME_ERROR, OFFCPU_ERR_NO_STACK);
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
	assert_int_equal(offcpu_add_stack(f.o, &thread, NULL, 100, stack, 3), 0);
	offcpu_end_wait(f.o, &r, &thread);
	t.places[3].thinned_ns = 320;
	t.places[4].thinned_ns = 70;
	t.places[5].thinned_ns = 7;
	cut(&f, &t, 1000, false);
	assert_int_equal(f.n, 2);
	assert_reported(&f, 1, (struct reported){ OFF_SLEEPING, 77, 1, none });
	assert_true(offcpu_scale(f.o, &thread, 3).thinned == 2);
	assert_true(offcpu_scale(f.o, &thread, 4).thinned == 1);
	/* an invalid place must not access other memory */
	r.head.off_place = 255;
	offcpu_end_wait(f.o, &r, &thread);
	offcpu_free(f.o);
}

static void time_without_chosen_waits_belongs_to_the_only_stack_of_its_place(void **state)
{
	const uint64_t none = FRAME_WORD(FRAME_ERROR, OFFCPU_ERR_NO_STACK), other[] = { 14 };
	struct off_thread t = { .pid = 1, .places[0].thinned_ns = 50 };
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(offcpu_add_stack(f.o, &thread, NULL, 100, stack, 3), 0);
	end(&f, 100, 0, 200, 0);
	cut(&f, &t, 1000, false);
	assert_int_equal(f.n, 1);
	assert_true(offcpu_scale(f.o, &thread, 0).all == 1.5);
	offcpu_begin_window(f.o);
	assert_true(offcpu_scale(f.o, &thread, 0).all == 1);
	/* now the place has two stacks */
	assert_int_equal(offcpu_add_stack(f.o, &thread, NULL, 1100, other, 1), 0);
	end(&f, 1100, 0, 1200, 0);
	t.places[0].thinned_ns = 90;
	cut(&f, &t, 2000, false);
	assert_int_equal(f.n, 3);
	assert_reported(&f, 2, (struct reported){ OFF_SLEEPING, 40, 1, none });
	assert_true(offcpu_scale(f.o, &thread, 0).all == 1);
	offcpu_free(f.o);
}

static void a_lost_stack_is_not_counted_for_its_place(void **state)
{
	struct off_thread t = { .pid = 1, .places[0].thinned_ns = 50 };
	struct fixture f;

	fixture_init(&f);
	end(&f, 10, 0, 90, 0); /* its stack was lost */
	assert_int_equal(offcpu_add_stack(f.o, &thread, NULL, 100, stack, 3), 0);
	end(&f, 100, 0, 200, 0);
	cut(&f, &t, 1000, false);
	assert_int_equal(f.n, 2);
	assert_int_equal(f.place_plus_1[0], 0);
	assert_int_equal(f.place_plus_1[1], 1);
	assert_true(offcpu_scale(f.o, &thread, 0).all == 1.5);
	offcpu_free(f.o);
}

/* Waits and the ends of windows are measured with different clocks. */
static void a_wait_that_ended_before_its_window_has_no_time_left(void **state)
{
	const uint64_t none = FRAME_WORD(FRAME_ERROR, OFFCPU_ERR_NO_STACK);
	struct off_thread t = {
		.out_ns = 100, .pid = 1, .state = OFF_SLEEPING, .chosen = OFF_CHOSEN
	};
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(offcpu_add_stack(f.o, &thread, NULL, 100, stack, 3), 0);
	cut(&f, &t, 300, false);
	offcpu_begin_window(f.o);
	end(&f, 100, 0, 290, 0);
	t = (struct off_thread){ .pid = 1, .places[0].thinned_ns = 50 };
	cut(&f, &t, 1000, false);
	assert_int_equal(f.n, 2);
	assert_reported(&f, 0, (struct reported){ OFF_SLEEPING, 200, 1, 11 });
	assert_reported(&f, 1, (struct reported){ OFF_SLEEPING, 50, 1, none });
	assert_true(offcpu_scale(f.o, &thread, 0).all == 1);
	offcpu_free(f.o);
}

static void a_thread_that_ends_is_settled_with_its_window(void **state)
{
	struct off_last_record last = { .head = { .type = RECORD_OFF_LAST, .pid = 1, .tid = TID },
					.thinned_ns = { 80 } };
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(offcpu_add_stack(f.o, &thread, NULL, 100, stack, 3), 0);
	end(&f, 100, 0, 110, 4);
	offcpu_end_thread(f.o, &last, &thread);
	assert_true(offcpu_scale(f.o, &thread, 0).thinned == 0.5);
	offcpu_begin_window(f.o);
	assert_int_equal(offcpu_count(f.o), 0);
	/* a thread with the same tid has already started */
	end(&f, 200, 0, 210, 4);
	offcpu_end_thread(f.o, &last, &thread);
	assert_int_equal(offcpu_add_stack(f.o, &thread, NULL, 300, stack, 3), 0);
	assert_true(offcpu_scale(f.o, &thread, 0).thinned == 1);
	offcpu_free(f.o);
}

static void a_wait_whose_stack_is_lost_is_reported_without_one(void **state)
{
	const uint64_t none = FRAME_WORD(FRAME_ERROR, OFFCPU_ERR_NO_STACK);
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(offcpu_add_stack(f.o, &thread, NULL, 100, stack, 3), 0);
	end(&f, 300, 0, 350, 0);
	assert_int_equal(f.n, 1);
	assert_reported(&f, 0, (struct reported){ OFF_SLEEPING, 50, 1, none });
	offcpu_free(f.o);
}

static void a_wait_across_windows_is_counted_once(void **state)
{
	struct off_thread t = {
		.out_ns = 100 * MS, .pid = 1, .state = OFF_SLEEPING, .chosen = OFF_CHOSEN
	};
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(offcpu_add_stack(f.o, &thread, NULL, 100 * MS, stack, 3), 0);
	cut(&f, &t, 400 * MS, false);
	cut(&f, &t, 900 * MS, false);
	end(&f, 100 * MS, 950 * MS, 1000 * MS, 0);
	assert_int_equal(f.n, 4);
	assert_reported(&f, 0, (struct reported){ OFF_SLEEPING, 300 * MS, 1, 11 });
	assert_reported(&f, 1, (struct reported){ OFF_SLEEPING, 500 * MS, 0, 11 });
	assert_reported(&f, 2, (struct reported){ OFF_SLEEPING, 50 * MS, 0, 11 });
	assert_reported(&f, 3, (struct reported){ OFF_RUNNABLE, 50 * MS, 0, 11 });
	/* the kernel's state was read before the end of the wait */
	cut(&f, &t, 1100 * MS, true);
	assert_int_equal(f.n, 4);
	offcpu_free(f.o);
}

static void an_ongoing_wait_is_reported_once_its_weight_is_known(void **state)
{
	struct off_thread t = {
		.out_ns = 100 * MS, .pid = 1, .state = OFF_DISK, .shift = 3, .chosen = OFF_CHOSEN
	};
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(offcpu_add_stack(f.o, &thread, NULL, 100 * MS, stack, 3), 0);
	cut(&f, &t, 101 * MS, false); /* The wait may become long and then represent only itself. */
	assert_int_equal(f.n, 0);
	cut(&f, &t, 101 * MS, true);
	assert_int_equal(f.n, 1);
	assert_reported(&f, 0, (struct reported){ OFF_DISK, 1 * MS, 1, 11 });
	offcpu_free(f.o);
}

static void an_ongoing_long_wait_is_reported_even_without_a_stack(void **state)
{
	struct off_thread t = { .out_ns = 100 * MS, .pid = 1, .state = OFF_SLEEPING, .shift = 3 };
	struct fixture f;

	fixture_init(&f);
	cut(&f, &t, 100 * MS + OFF_LONG_NS, false);
	assert_int_equal(f.n, 1);
	assert_reported(&f, 0,
			(struct reported){ OFF_SLEEPING, OFF_LONG_NS, 1,
					   FRAME_WORD(FRAME_ERROR, OFFCPU_ERR_NO_STACK) });
	/* now the stack was captured */
	assert_int_equal(offcpu_add_stack(f.o, &thread, NULL, 100 * MS, stack, 3), 0);
	end(&f, 100 * MS, 0, 150 * MS + OFF_LONG_NS, 0);
	assert_reported(&f, 1, (struct reported){ OFF_SLEEPING, 50 * MS, 0, 11 });
	offcpu_free(f.o);
}

static void time_without_stacks_is_reported_as_it_grows(void **state)
{
	const uint64_t none = FRAME_WORD(FRAME_ERROR, OFFCPU_ERR_NO_STACK);
	struct off_thread t = { .pid = 1, .unsampled_ns = 30, .unsampled_queued_ns = 4 };
	struct off_last_record last = { .head = { .type = RECORD_OFF_LAST, .pid = 1, .tid = TID },
					.unsampled_ns = 50,
					.unsampled_queued_ns = 4 };
	struct fixture f;

	fixture_init(&f);
	cut(&f, &t, 1000, false);
	cut(&f, &t, 2000, false);
	assert_int_equal(f.n, 2);
	assert_reported(&f, 0, (struct reported){ OFF_SLEEPING, 30, 1, none });
	assert_reported(&f, 1, (struct reported){ OFF_RUNNABLE, 4, 0, none });
	offcpu_end_thread(f.o, &last, &thread);
	assert_int_equal(f.n, 3);
	assert_reported(&f, 2, (struct reported){ OFF_SLEEPING, 20, 1, none });
	offcpu_begin_window(f.o);
	assert_int_equal(offcpu_count(f.o), 0);
	offcpu_free(f.o);
}

static void ended_threads_leave_no_memory_behind(void **state)
{
	struct fixture f;
	size_t bytes = 0;

	fixture_init(&f);
	for (uint32_t i = 1; i <= 100000; i++) {
		struct sample_counts_thread t = { .pid = i, .tid = i };

		assert_int_equal(offcpu_add_stack(f.o, &t, NULL, i, stack, 3), 0);
		assert_true(offcpu_has_thread(f.o, i));
		offcpu_remove_thread(f.o, i);
		assert_false(offcpu_has_thread(f.o, i));
		if (i == 1)
			bytes = offcpu_bytes(f.o);
	}
	assert_int_equal(offcpu_bytes(f.o), bytes);
	assert_int_equal(f.n, 0);
	offcpu_free(f.o);
}

static void the_first_run_of_a_thread_has_no_missing_stack(void **state)
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
	offcpu_end_wait(f.o, &r, &thread);
	assert_reported(
		&f, 0,
		(struct reported){ OFF_NEW, 4, 1, FRAME_WORD(FRAME_ERROR, OFFCPU_ERR_NEW_THREAD) });
	assert_string_equal(offcpu_error_text(OFFCPU_ERR_NEW_THREAD), "[thread not started]");
	assert_string_equal(offcpu_error_text(OFFCPU_ERR_NO_STACK), "[stack not taken]");
	assert_string_equal(offcpu_state_text(OFF_DISK), "uninterruptible");
	offcpu_free(f.o);
}

TEST_GROUP(test_offcpu, TEST(a_wait_and_its_time_on_the_run_queue_are_separate),
	   TEST(a_chosen_wait_represents_similar_waits),
	   TEST(a_wait_whose_stack_is_lost_is_reported_without_one),
	   TEST(chosen_waits_are_scaled_to_the_kernels_sum),
	   TEST(thinned_time_is_not_moved_between_places),
	   TEST(time_without_chosen_waits_belongs_to_the_only_stack_of_its_place),
	   TEST(a_lost_stack_is_not_counted_for_its_place),
	   TEST(a_wait_that_ended_before_its_window_has_no_time_left),
	   TEST(a_thread_that_ends_is_settled_with_its_window),
	   TEST(a_wait_across_windows_is_counted_once),
	   TEST(an_ongoing_wait_is_reported_once_its_weight_is_known),
	   TEST(an_ongoing_long_wait_is_reported_even_without_a_stack),
	   TEST(time_without_stacks_is_reported_as_it_grows),
	   TEST(ended_threads_leave_no_memory_behind),
	   TEST(the_first_run_of_a_thread_has_no_missing_stack))
