/* SPDX-License-Identifier: Apache-2.0 */
/* Threads off the CPU, of a kernel side in memory (kernel.h). */
#include "profiler/waiting_threads.h"

#include <unistd.h>

#include "profiler/record_decoder.h"
#include "profiler/sample_counts.h"
#include "profiler/session_opts.h"
#include "profiler/session_parts.h"
#include "tests/test.h"
#include "tests/unit/profiler/kernel.h"

enum { NOW_NS = 1000000000, UNSAMPLED_NS = 7000 };

static void sync_processes(void *ctx, uint64_t time_ns)
{
}

static bool build(void *ctx, uint32_t file, bool may_wait)
{
	return false;
}

static bool never(void *ctx, uint32_t file)
{
	return false;
}

static struct waiting_threads open_waiting(struct session_parts *p)
{
	const struct session_opts opts = { .sampler.max_chunks = 64 };
	const struct session_hooks hooks = {
		.sync_processes = sync_processes,
		.build_table = build,
		.is_pending = never,
	};

	*p = (struct session_parts){ 0 };
	assert_int_equal(session_parts_open(p, &opts, &hooks, NULL), 0);
	return (struct waiting_threads){ .sampler = p->sampler, .decoder = p->decoder };
}

/* Ends a window in which thread @tid of this process has waited. */
static void end_window(struct waiting_threads *w, uint32_t tid)
{
	struct waiting_states states = { 0 };

	kernel->waiting = (struct off_thread){ .pid = (uint32_t)getpid(),
					       .tid = tid,
					       .unsampled_ns = UNSAMPLED_NS };
	assert_int_equal(waiting_threads_read(w, &states), 0);
	assert_int_equal(states.tids.len, 1);
	assert_int_equal(states.threads.len, 1);
	assert_int_equal(states.tids.data[0], tid);
	waiting_threads_count(w, &states, NOW_NS, false);
	waiting_threads_end_window(w);
	waiting_states_fini(&states);
}

static void waits_of_present_threads_are_counted_once(void **state)
{
	struct session_parts p;
	struct waiting_threads w = open_waiting(&p);
	const struct sample_counts *c = record_decoder_counts(p.decoder);
	const struct sample_counts_sample *wait;

	end_window(&w, (uint32_t)getpid());
	assert_int_equal(kernel->n_scans, 1);
	/* the kernel's sum has not grown since */
	end_window(&w, (uint32_t)getpid());
	assert_int_equal(sample_counts_n_samples(c), 1);
	wait = sample_counts_sample(c, 0);
	assert_int_equal(wait->off_ns, UNSAMPLED_NS);
	assert_int_equal(wait->off_state, OFF_SLEEPING);
	assert_int_equal(sample_counts_thread(c, wait->thread)->pid, getpid());
	assert_int_equal(kernel->n_removed, 0);
	session_parts_close(&p);
}

static void threads_that_are_gone_are_forgotten(void **state)
{
	struct session_parts p;
	struct waiting_threads w = open_waiting(&p);

	end_window(&w, 1u << 30);
	assert_int_equal(kernel->n_removed, 1);
	assert_int_equal(sample_counts_n_samples(record_decoder_counts(p.decoder)), 0);
	session_parts_close(&p);
}

static void own_waits_can_be_excluded(void **state)
{
	struct session_parts p;
	struct waiting_threads w = open_waiting(&p);

	w.exclude_self = true;
	end_window(&w, (uint32_t)getpid());
	assert_int_equal(sample_counts_n_samples(record_decoder_counts(p.decoder)), 0);
	assert_int_equal(kernel->n_removed, 0);
	session_parts_close(&p);
}

static void captures_have_an_interval(void **state)
{
	struct session_parts p;
	struct waiting_threads w = open_waiting(&p);

	waiting_threads_capture_if_due(&w, NOW_NS);
	assert_int_equal(kernel->n_scans, 1);
	waiting_threads_capture_if_due(&w, NOW_NS + 149000000);
	assert_int_equal(kernel->n_scans, 1);
	waiting_threads_capture_if_due(&w, NOW_NS + 150000000);
	assert_int_equal(kernel->n_scans, 2);
	/* others are not limited */
	assert_int_equal(waiting_threads_capture(&w, 5), 0);
	assert_int_equal(kernel->n_scans, 3);
	assert_int_equal(kernel->scan_since_ns, 5);
	session_parts_close(&p);
}

int test_waiting_threads(void);
int test_waiting_threads(void)
{
	const struct CMUnitTest tests[] = {
		KERNEL_TEST(waits_of_present_threads_are_counted_once),
		KERNEL_TEST(threads_that_are_gone_are_forgotten),
		KERNEL_TEST(own_waits_can_be_excluded),
		KERNEL_TEST(captures_have_an_interval),
	};

	return TEST_RUN("test_waiting_threads", tests, NULL, NULL);
}
