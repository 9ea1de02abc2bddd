/* SPDX-License-Identifier: Apache-2.0 */
/* The process is this one, whose C library has an allocator; probes are descriptors. */
#include "profiler/alloc_recording.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "tests/test.h"
#include "tests/unit/process/machine.h"

struct fixture {
	struct machine machine;
	struct alloc_recording *recording;
};

static void fixture_init(struct fixture *f, unsigned int share_max)
{
	struct alloc_recording_opts opts = { .frees = true, .share_max = share_max };

	machine_init(&f->machine);
	opts.sampler = &f->machine.sampler;
	opts.procs = f->machine.processes;
	opts.files = f->machine.files;
	opts.readers = f->machine.readers;
	assert_int_equal(alloc_recording_new(&f->recording, &opts), 0);
}

static void fixture_fini(struct fixture *f)
{
	alloc_recording_free(f->recording);
	machine_fini(&f->machine);
}

static void follow_self(struct fixture *f)
{
	assert_int_equal(process_table_follow(f->machine.processes, (uint32_t)getpid()), 0);
	assert_int_equal(process_table_scan(f->machine.processes), 0);
}

static void without_known_functions_it_says_what_is_missing(void **state)
{
	struct fixture f = { 0 };
	struct err err = { 0 };

	fixture_init(&f, 100);
	assert_int_equal(alloc_recording_start(f.recording, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "symbol table"));
	fixture_fini(&f);
}

static void probes_the_files_of_a_process_once(void **state)
{
	struct fixture f = { 0 };
	struct alloc_recording_stats st;

	fixture_init(&f, 100);
	follow_self(&f);
	assert_int_equal(alloc_recording_start(f.recording, NULL), 0);
	assert_true(f.machine.sampler.n_alloc_files > 0);
	assert_int_equal(f.machine.sampler.n_attached[ALLOC_PROBE_ALLOCS],
			 f.machine.sampler.n_alloc_files);
	assert_int_equal(f.machine.sampler.n_attached[ALLOC_PROBE_FREES],
			 f.machine.sampler.n_alloc_files);
	alloc_recording_update(f.recording, clock_monotonic_ns());
	assert_int_equal(f.machine.sampler.n_attached[ALLOC_PROBE_ALLOCS],
			 f.machine.sampler.n_alloc_files);
	alloc_recording_stats(f.recording, &st);
	assert_int_equal(st.n_processes, 1);
	fixture_fini(&f);
}

static void a_refused_probe_is_an_error(void **state)
{
	struct fixture f = { 0 };
	struct err err = { 0 };

	fixture_init(&f, 100);
	follow_self(&f);
	f.machine.sampler.attach_result = -EPERM;
	assert_int_equal(alloc_recording_start(f.recording, &err), -EPERM);
	assert_non_null(strstr(err.msg, "cannot place probes"));
	fixture_fini(&f);
}

/* Uses CPU time, which the kernel accounts in ticks. */
static void work(void)
{
	uint64_t end_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + 50000000;

	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < end_ns)
		;
}

static void pauses_when_probes_take_too_much_time(void **state)
{
	struct fixture f = { 0 };
	struct alloc_recording_stats st;
	uint64_t now_ns;
	uint32_t n;

	fixture_init(&f, 1);
	follow_self(&f);
	assert_int_equal(alloc_recording_start(f.recording, NULL), 0);
	n = f.machine.sampler.n_attached[ALLOC_PROBE_ALLOCS];
	work();
	f.machine.sampler.n_alloc_calls = 1000000;
	now_ns = clock_monotonic_ns() + 1000000000;
	alloc_recording_update(f.recording, now_ns);
	alloc_recording_stats(f.recording, &st);
	assert_int_equal(st.n_pauses, 1);
	assert_int_equal(f.machine.sampler.n_attached[ALLOC_PROBE_ALLOCS], n);
	alloc_recording_update(f.recording, now_ns + 60000000000ULL);
	assert_int_equal(f.machine.sampler.n_attached[ALLOC_PROBE_ALLOCS], 2 * n);
	assert_int_equal(f.machine.sampler.n_attached[ALLOC_PROBE_FREES], n);
	alloc_recording_stats(f.recording, &st);
	assert_int_equal(st.paused_ns, 60000000000ULL);
	fixture_fini(&f);
}

TEST_GROUP(test_alloc_recording, TEST(without_known_functions_it_says_what_is_missing),
	   TEST(probes_the_files_of_a_process_once), TEST(a_refused_probe_is_an_error),
	   TEST(pauses_when_probes_take_too_much_time))
