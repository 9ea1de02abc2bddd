/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of wakers, and what they are.
 *
 * covers: src/profiler/waker_reason.c src/profiler/wait_records.c src/profiler/off_texts.c
 */
#include "profiler/wakers.h"

#include "profiler/off_texts.h"
#include "profiler/offcpu.h"
#include "profiler/wait_records.h"
#include "profiler/waker_reason.h"
#include "tests/test.h"

enum { A = 11, B = 12, C = 13, WORDS_MAX = 32 };

#define UNKNOWN FRAME_WORD(FRAME_ERROR, OFFCPU_ERR_NO_WAKER)

static const uint64_t stack[] = { 1, 2 };

struct fixture {
	struct offcpu *o;
	struct sample_counts *counts;
};

static void on_time(void *ctx, const struct offcpu_time *t)
{
	struct fixture *f = ctx;

	assert_true(wait_records_count(f->counts, t) >= 0);
}

static void fixture_init(struct fixture *f)
{
	assert_int_equal(sample_counts_new(&f->counts, false), 0);
	assert_int_equal(offcpu_new(&f->o, on_time, f), 0);
	offcpu_enable_wakers(f->o);
}

static void fixture_fini(struct fixture *f)
{
	offcpu_free(f->o);
	sample_counts_free(f->counts);
}

static struct sample_counts_thread thread_of(uint32_t tid)
{
	return (struct sample_counts_thread){ .pid = tid, .tid = tid };
}

static void keep(struct fixture *f, const struct record_header *h, const uint64_t *words, size_t n)
{
	struct sample_counts_thread t = thread_of(h->tid);
	const struct wait_stack s = { .head = h, .thread = &t, .words = words, .n = n };

	assert_int_equal(wait_records_keep(f->o, NULL, &s), 0);
}

static void begin(struct fixture *f, uint32_t tid, uint64_t out)
{
	keep(f, &(struct record_header){ .flags = RECORD_OFF_CPU, .tid = tid, .time_ns = out },
	     stack, 2);
}

/* Thread @by wakes @tid, with a stack of the word @by; its own last wait began at @last. */
static void wake(struct fixture *f, uint32_t by, uint32_t tid, uint64_t out, bool waited,
		 uint64_t last)
{
	const uint64_t word = by;
	const struct record_header h = { .flags = (uint16_t)(RECORD_WAKER |
							     (waited ? RECORD_WAKER_WAITED : 0)),
					 .tid = by,
					 .arg = WAKER_ARG(tid, last),
					 .len = out };

	keep(f, &h, &word, 1);
}

static void end(struct fixture *f, uint32_t tid, uint64_t out, uint64_t wake_ns, uint64_t in,
		enum off_state state)
{
	struct sample_counts_thread t = thread_of(tid);
	const struct off_record r = { .head = { .type = RECORD_OFF,
						.tid = tid,
						.time_ns = out,
						.off_state = (uint8_t)state },
				      .wake_ns = wake_ns,
				      .in_ns = in };

	offcpu_end_wait(f->o, &r, &t);
}

static size_t last_of(const struct fixture *f)
{
	return sample_counts_n_samples(f->counts) - 1;
}

/* The words of sample @i; a divider is replaced by the tid of its thread plus 100. */
static size_t words_of(const struct fixture *f, size_t i, uint64_t out[WORDS_MAX])
{
	const struct sample_counts_sample *s = sample_counts_sample(f->counts, i);
	size_t n;
	const uint64_t *words = sample_counts_stack(f->counts, s->stack, &n);

	assert_true(n <= WORDS_MAX);
	for (size_t k = 0; k < n; k++) {
		out[k] = words[k];
		if (words[k] >> FRAME_KIND_SHIFT == FRAME_WAKER)
			out[k] = 100 + sample_counts_thread(f->counts, WAKER_THREAD(words[k]))->tid;
	}
	return n;
}

static void assert_words(const struct fixture *f, size_t i, const uint64_t *want, size_t n)
{
	uint64_t have[WORDS_MAX];

	assert_int_equal(words_of(f, i, have), n);
	assert_memory_equal(have, want, n * sizeof(*want));
}

#define ASSERT_WORDS(f, i, ...)                                                                    \
	assert_words(f, i, (const uint64_t[]){ __VA_ARGS__ },                                      \
		     sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void a_wait_has_the_stack_of_its_waker_but_the_run_queue_has_none(void **state)
{
	struct fixture f;

	fixture_init(&f);
	begin(&f, A, 100);
	wake(&f, B, A, 100, false, 0);
	end(&f, A, 100, 180, 200, OFF_SLEEPING);
	assert_int_equal(sample_counts_n_samples(f.counts), 2);
	ASSERT_WORDS(&f, 0, B, 100 + B, 1, 2);
	assert_int_equal(sample_counts_sample(f.counts, 0)->off_ns, 80);
	ASSERT_WORDS(&f, 1, 1, 2);
	assert_int_equal(sample_counts_sample(f.counts, 1)->off_ns, 20);
	fixture_fini(&f);
}

static void a_waker_that_was_not_seen_is_unknown_and_preemption_has_none(void **state)
{
	struct fixture f;

	fixture_init(&f);
	begin(&f, A, 100);
	wake(&f, B, A, 90, false, 0); /* of another wait */
	end(&f, A, 100, 0, 200, OFF_SLEEPING);
	ASSERT_WORDS(&f, 0, UNKNOWN, 1, 2);
	begin(&f, A, 300);
	end(&f, A, 300, 300, 400, OFF_PREEMPTED);
	ASSERT_WORDS(&f, 1, 1, 2);
	fixture_fini(&f);
}

static void a_wait_that_has_not_ended_is_shown_as_such(void **state)
{
	const struct off_thread t = { .out_ns = 100, .chosen = OFF_CHOSEN, .state = OFF_SLEEPING };
	struct sample_counts_thread thread = thread_of(A);
	struct fixture f;

	fixture_init(&f);
	begin(&f, A, 100);
	assert_int_equal(offcpu_end_window(f.o, A, &t, &thread, 300, true), 0);
	ASSERT_WORDS(&f, 0, FRAME_WORD(FRAME_ERROR, OFFCPU_ERR_NOT_WOKEN), 1, 2);
	fixture_fini(&f);
}

static void wakers_of_the_waker_follow(void **state)
{
	struct fixture f;

	fixture_init(&f);
	begin(&f, A, 100);
	begin(&f, B, 110);
	wake(&f, C, B, 110, false, 0);
	end(&f, B, 110, 150, 160, OFF_SLEEPING);
	/* a preemption in between changes nothing */
	begin(&f, B, 165);
	end(&f, B, 165, 165, 170, OFF_PREEMPTED);
	wake(&f, B, A, 100, true, 110);
	end(&f, A, 100, 180, 180, OFF_SLEEPING);
	ASSERT_WORDS(&f, last_of(&f), C, 100 + C, B, 100 + B, 1, 2);
	fixture_fini(&f);
}

static void a_chain_ends_where_the_next_waker_is_not_known(void **state)
{
	struct fixture f;

	fixture_init(&f);
	begin(&f, A, 100);
	wake(&f, B, A, 100, true, 0);
	end(&f, A, 100, 0, 200, OFF_SLEEPING);
	ASSERT_WORDS(&f, 0, UNKNOWN, B, 100 + B, 1, 2);
	/* the waker's last wait is another one than the one that is known */
	begin(&f, B, 300);
	wake(&f, C, B, 300, false, 0);
	end(&f, B, 300, 0, 310, OFF_SLEEPING);
	begin(&f, A, 290);
	wake(&f, B, A, 290, true, 305);
	end(&f, A, 290, 0, 320, OFF_SLEEPING);
	ASSERT_WORDS(&f, 0, UNKNOWN, B, 100 + B, 1, 2);
	assert_int_equal(sample_counts_sample(f.counts, 0)->off_ns, 130);
	fixture_fini(&f);
}

static void a_chain_is_bounded(void **state)
{
	enum { TURNS = 40 };
	uint64_t words[WORDS_MAX];
	struct fixture f;

	fixture_init(&f);
	for (uint32_t i = 0; i < TURNS; i++) {
		begin(&f, 1000 + i, 100 + i);
		wake(&f, i ? 999 + i : A, 1000 + i, 100 + i, i > 0, i ? 99 + i : 0);
		end(&f, 1000 + i, 100 + i, 0, 200 + i, OFF_SLEEPING);
	}
	assert_int_equal(sample_counts_n_samples(f.counts), TURNS);
	assert_int_equal(words_of(&f, last_of(&f), words), 1 + 2 * WAKERS_MAX + 2);
	assert_int_equal(words[0], FRAME_WORD(FRAME_ERROR, OFFCPU_ERR_MORE_WAKERS));
	assert_string_equal(offcpu_error_text(OFFCPU_ERR_MORE_WAKERS), "[more wakers]");
	fixture_fini(&f);
}

static void the_waiting_threads_own_frames_follow_the_last_divider(void **state)
{
	const uint64_t words[] = { 5, WAKER_WORD(3, true), 6, WAKER_WORD(4, false), 7, 8 };

	assert_int_equal(wakers_n_words(words, 6), 4);
	assert_int_equal(wakers_n_words(words + 4, 2), 0);
	assert_int_equal(wakers_n_words(NULL, 0), 0);
	assert_true(WAKER_IS_KERNEL(words[1]) && !WAKER_IS_KERNEL(words[3]));
	assert_int_equal(WAKER_THREAD(words[3]), 4);
}

static void interrupts_are_recognized_by_the_kernels_functions(void **state)
{
	const char *const timer[] = { "bpf_prog",
				      "try_to_wake_up",
				      "hrtimer_wakeup",
				      "hrtimer_interrupt",
				      "sysvec_apic_timer_interrupt",
				      "asm_sysvec_apic_timer_interrupt",
				      "vfs_read" };
	const char *const disk[] = { "try_to_wake_up", "bio_endio", "handle_irq_event",
				     "common_interrupt", "asm_common_interrupt" };
	const char *const sent[] = { "try_to_wake_up", "sock_def_readable",    "net_rx_action",
				     "do_softirq",     "__local_bh_enable_ip", "tcp_sendmsg" };
	const char *const arm[] = { "try_to_wake_up", "gic_handle_irq", "el1_interrupt",
				    "el1h_64_irq", "cpuidle_enter" };

	assert_int_equal(waker_reason_skip_frames(timer, 7), 1);
	assert_int_equal(waker_reason_interrupt(timer, 7), 6);
	assert_string_equal(waker_reason_find(timer, 6), "timer");
	assert_int_equal(waker_reason_interrupt(disk, 5), 5);
	assert_string_equal(waker_reason_find(disk, 5), "disk");
	assert_int_equal(waker_reason_interrupt(sent, 6), 0);
	assert_int_equal(waker_reason_interrupt(arm, 5), 4);
	assert_string_equal(waker_reason_find(arm, 4), "");
	assert_int_equal(waker_reason_skip_frames(timer, 0), 0);
}

TEST_GROUP(test_wakers, TEST(a_wait_has_the_stack_of_its_waker_but_the_run_queue_has_none),
	   TEST(a_waker_that_was_not_seen_is_unknown_and_preemption_has_none),
	   TEST(a_wait_that_has_not_ended_is_shown_as_such), TEST(wakers_of_the_waker_follow),
	   TEST(a_chain_ends_where_the_next_waker_is_not_known), TEST(a_chain_is_bounded),
	   TEST(the_waiting_threads_own_frames_follow_the_last_divider),
	   TEST(interrupts_are_recognized_by_the_kernels_functions))
