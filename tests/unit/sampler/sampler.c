/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs in this kernel, which samples and switches a child of the test. It needs BTF, the
 * host's pid namespace and privileges; attach.c tests what needs none of them.
 *
 * covers: src/sampler/sampler.c src/sampler/sched_probe.c
 */
#include "sampler/sampler.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "bpf/shared/abi.h"
#include "sampler/cpu_list.h"
#include "tests/test.h"

enum { LIMIT_S = 60 };

/* Opens the sampler, or skips the test where the kernel does not permit that. */
static struct sampler *open_or_skip(const struct sampler_opts *opts)
{
	struct sampler *s = NULL;
	struct err err = { 0 };
	int r = sampler_open(&s, opts, &err);

	if (r == -EPERM || r == -EACCES || r == -ENOENT || r == -ENOTSUP) {
		assert_true(*err.msg);
		assert_null(s);
		print_message("%s\n", err.msg);
		skip();
	}
	if (r < 0)
		fail_msg("%s", err.msg);
	return s;
}

static struct sampler_opts options(void)
{
	return (struct sampler_opts){ .freq_hz = 199,
				      .kernel = true,
				      .user = true,
				      .targets_only = true,
				      .max_chunks = 1,
				      .ring_bytes = 1 << 20 };
}

/* A child that computes (or sleeps in between) until it is killed. */
static pid_t start_child(bool sleeps)
{
	volatile unsigned int n = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	while (pid == 0) {
		n++;
		if (sleeps)
			usleep(1000);
	}
	return pid;
}

static void end_child(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

struct seen {
	uint32_t pid; /* records of this process are counted */
	size_t n, n_of_others, n_off, n_faults;
};

static void on_record(void *ctx, const void *record, size_t len)
{
	const struct record_header *h = record;
	struct seen *seen = ctx;

	assert_true(len >= sizeof(*h));
	if (h->pid != seen->pid) {
		seen->n_of_others++;
		return;
	}
	seen->n++;
	seen->n_off += h->type == RECORD_OFF || h->flags & RECORD_OFF_CPU;
	seen->n_faults += h->flags & RECORD_FAULT && h->flags & RECORD_FAULT_WRITE && h->arg;
}

/* Consumes records until *@n is at least @least; fails after LIMIT_S. */
static void consume_until(struct sampler *s, struct seen *seen, const size_t *n, size_t least)
{
	uint64_t limit = clock_monotonic_ns() + LIMIT_S * (uint64_t)CLOCK_SECOND_NS;

	while (*n < least && clock_monotonic_ns() < limit) {
		struct pollfd p = { .fd = sampler_fd(s), .events = POLLIN };

		(void)poll(&p, 1, 10);
		assert_true(sampler_consume(s, on_record, seen) >= 0);
	}
	assert_true(*n >= least);
}

static void samples_of_the_target_arrive(void **state)
{
	const struct sampler_opts opts = options();
	struct sampler *s = open_or_skip(&opts);
	struct seen seen = { .pid = (uint32_t)start_child(false) };
	struct cpu_list back = { 0 };
	struct sampler_stats stats;
	struct err err = { 0 };

	assert_int_equal(sampler_add_target(s, seen.pid), 0);
	if (sampler_attach(s, &err) < 0)
		fail_msg("%s", err.msg);
	consume_until(s, &seen, &seen.n, 5);
	assert_int_equal(seen.n_of_others, 0);
	assert_int_equal(sampler_stats(s, &stats), 0);
	assert_true(stats.counts.n[COUNTER_SENT] + stats.counts.n[COUNTER_SENT_RAW] >= 5);
	assert_true(stats.run_ns > 0 && stats.run_count > 0);
	assert_true(stats.n_cpus >= 1);
	assert_true(stats.maps_bytes > stats.n_cpus * (1u << 18));
	assert_null(sampler_offcpu_error(s));
	/* Known CPUs are not reported as being back. */
	assert_int_equal(sampler_update_cpus(s, &back, NULL), 0);
	assert_int_equal(back.len, 0);
	end_child((pid_t)seen.pid);
	sampler_free(s);
}

/* Waits until the child has used this much CPU time, in which it would have been sampled. */
static void wait_for_cpu_time(pid_t pid, int64_t ns)
{
	uint64_t limit = clock_monotonic_ns() + LIMIT_S * (uint64_t)CLOCK_SECOND_NS;
	struct timespec t = { 0 };
	int64_t first = -1, now = 0;
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	while (now - first < ns && clock_monotonic_ns() < limit) {
		assert_int_equal(clock_gettime(clock, &t), 0);
		now = t.tv_sec * (int64_t)CLOCK_SECOND_NS + t.tv_nsec;
		first = first < 0 ? now : first;
		usleep(1000);
	}
	assert_true(now - first >= ns);
}

static void nothing_arrives_while_paused_or_after_the_end(void **state)
{
	const struct sampler_opts opts = options();
	struct sampler *s = open_or_skip(&opts);
	struct seen seen = { .pid = (uint32_t)start_child(false) };
	struct sampler_stats before, after;

	assert_int_equal(sampler_add_target(s, seen.pid), 0);
	assert_int_equal(sampler_attach(s, NULL), 0);
	consume_until(s, &seen, &seen.n, 2);
	assert_int_equal(sampler_pause(s, true), 0);
	assert_int_equal(sampler_stats(s, &before), 0);
	wait_for_cpu_time((pid_t)seen.pid, 50 * CLOCK_MS_NS);
	assert_int_equal(sampler_stats(s, &after), 0);
	assert_int_equal(after.counts.n[COUNTER_SAMPLES], before.counts.n[COUNTER_SAMPLES]);
	(void)sampler_consume(s, on_record, &seen);
	seen.n = 0;
	assert_int_equal(sampler_pause(s, false), 0);
	consume_until(s, &seen, &seen.n, 2);
	sampler_end_process(s, seen.pid, 0);
	sampler_detach(s);
	(void)sampler_consume(s, on_record, &seen);
	seen.n = 0;
	assert_int_equal(sampler_consume(s, on_record, &seen), 0);
	assert_int_equal(seen.n, 0);
	end_child((pid_t)seen.pid);
	sampler_free(s);
}

/* A child that touches pages and drops them until it is killed. */
static pid_t start_faulting_child(void)
{
	enum { LEN = 1 << 24 };
	pid_t pid = fork();
	char *p;

	assert_true(pid >= 0);
	if (pid)
		return pid;
	p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || madvise(p, LEN, MADV_NOHUGEPAGE) < 0)
		_exit(1);
	for (;;) {
		for (size_t i = 0; i < LEN; i += 4096)
			((volatile char *)p)[i] = 1;
		(void)madvise(p, LEN, MADV_DONTNEED);
	}
}

/* Each reserves a state of walks, of which there are a few, and its last stage releases it. */
static void page_faults_of_the_target_arrive(void **state)
{
	struct sampler_opts opts = options();
	struct seen seen = { 0 };
	struct err err = { 0 };
	struct sampler *s;

	opts.faults = opts.no_samples = true;
	s = open_or_skip(&opts);
	seen.pid = (uint32_t)start_faulting_child();
	assert_int_equal(sampler_add_target(s, seen.pid), 0);
	if (sampler_attach(s, &err) < 0)
		fail_msg("%s", err.msg);
	consume_until(s, &seen, &seen.n_faults, 2000);
	assert_int_equal(seen.n_of_others, 0);
	assert_int_equal(seen.n_off, 0);
	end_child((pid_t)seen.pid);
	sampler_free(s);
}

static void on_thread(void *ctx, uint32_t tid, const struct off_thread *t)
{
	struct seen *seen = ctx;

	assert_int_equal(t->tid, tid);
	seen->n += tid == seen->pid;
}

static void waits_of_the_target_are_known(void **state)
{
	struct sampler_opts opts = options();
	struct seen seen = { 0 }, threads = { 0 };
	struct off_thread t;
	struct sampler *s;
	uint64_t limit = clock_monotonic_ns() + LIMIT_S * (uint64_t)CLOCK_SECOND_NS;

	opts.off_cpu = opts.no_samples = true;
	s = open_or_skip(&opts);
	seen.pid = threads.pid = (uint32_t)start_child(true);
	assert_int_equal(sampler_add_target(s, seen.pid), 0);
	assert_int_equal(sampler_attach(s, NULL), 0);
	consume_until(s, &seen, &seen.n_off, 3);
	assert_int_equal(sampler_get_thread(s, seen.pid, &t), 0);
	assert_int_equal(t.tid, seen.pid);
	assert_int_equal(sampler_each_thread(s, on_thread, &threads), 0);
	assert_int_equal(threads.n, 1);
	end_child((pid_t)seen.pid);
	/* The entry may be written once more while the process ends. */
	do
		sampler_remove_thread(s, seen.pid);
	while (sampler_get_thread(s, seen.pid, &t) == 0 && clock_monotonic_ns() < limit);
	assert_int_equal(sampler_get_thread(s, seen.pid, &t), -ENOENT);
	sampler_free(s);
}

static void a_thread_that_sleeps_since_before_the_start_is_found(void **state)
{
	struct sampler_opts opts = options();
	struct seen seen = { 0 };
	struct sampler *s;
	int pipe_fds[2];
	pid_t pid;
	char c;

	opts.off_cpu = opts.no_samples = true;
	assert_int_equal(pipe(pipe_fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(pipe_fds[1]);
		_exit(read(pipe_fds[0], &c, 1) == 0 ? 0 : 1);
	}
	s = open_or_skip(&opts);
	seen.pid = (uint32_t)pid;
	assert_int_equal(sampler_add_target(s, seen.pid), 0);
	assert_int_equal(sampler_attach(s, NULL), 0);
	assert_int_equal(sampler_scan_sleepers(s, clock_monotonic_ns(), on_record, &seen), 0);
	/*
	 * Linux before 5.8 has no iterator of tasks, and a child may still be on its way to sleep.
	 */
	assert_true(seen.n <= 1);
	assert_int_equal(seen.n_of_others, 0);
	close(pipe_fds[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(pipe_fds[0]);
	sampler_free(s);
}

static void tables_are_memory_that_the_kernel_shares(void **state)
{
	const struct sampler_opts opts = options();
	struct sampler *s = open_or_skip(&opts);
	struct unwind_tables_memory m;
	struct sampler_stats before, after;
	struct vm_tables vms;
	uint32_t *chunk;

	sampler_tables_memory(s, &m);
	assert_non_null(m.rules);
	assert_non_null(m.files);
	assert_int_equal(m.max_chunks, 1);
	assert_int_equal(sampler_stats(s, &before), 0);
	assert_int_equal(m.add_chunk(m.ctx, 0, &chunk), 0);
	chunk[0] = chunk[ARENA_CHUNK_BYTES / 4 - 1] = 7;
	assert_int_equal(sampler_stats(s, &after), 0);
	assert_int_equal(after.maps_bytes - before.maps_bytes, ARENA_CHUNK_BYTES);
	assert_int_equal(after.mapped_bytes - before.mapped_bytes, ARENA_CHUNK_BYTES);
	sampler_vm_tables(s, &vms);
	assert_non_null(vms.codes);
	memset(vms.codes, 0, sizeof(*vms.codes) * VM_TABLE_MAX);
	sampler_free(s);
}

static void without_privileges_there_is_a_reason(void **state)
{
	const struct sampler_opts opts = options();
	struct err err = { 0 };
	struct sampler *s = NULL;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		int r = 0;

		if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
			_exit(2);
		r = sampler_open(&s, &opts, &err);
		_exit(r < 0 && !s && *err.msg ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	sampler_free(NULL);
	assert_true(sampler_max_freq() > 0);
}

/* Puts as many processes as fit. */
static void fill(struct sampler *s)
{
	const struct unwind_process process = { 0 };
	const struct selection selection = { 0 };

	for (uint32_t pid = 1; pid <= PROCESSES_MAX; pid++) {
		assert_int_equal(sampler_put_process(s, pid, &process), 0);
		assert_int_equal(sampler_select(s, pid, &selection), 0);
	}
	assert_int_equal(sampler_put_process(s, PROCESSES_MAX + 1, &process), -E2BIG);
}

static uint64_t maps_bytes(const struct sampler *s)
{
	struct sampler_stats st;

	assert_int_equal(sampler_stats(s, &st), 0);
	return st.maps_bytes;
}

/* The agent's plan reserves the memory that the kernel uses for as many processes as fit. */
static void the_memory_of_all_maps_is_known_before_they_are_made(void **state)
{
	for (int i = 0; i < 3; i++) {
		struct sampler_opts opts = options();
		struct sampler_memory planned;
		struct sampler *s;
		uint64_t all, empty, full;

		opts.off_cpu = i == 1;
		opts.faults = i == 2;
		opts.targets_only = false;
		opts.by_rules = true;
		s = open_or_skip(&opts);
		assert_int_equal(sampler_memory(&opts, &planned, NULL), 0);
		empty = maps_bytes(s);
		fill(s);
		full = maps_bytes(s);
		all = planned.fixed_bytes + planned.n_cpus * planned.per_cpu_bytes +
		      opts.ring_bytes;
		print_message("planned %llu KiB, used %llu KiB, %llu KiB without processes\n",
			      (unsigned long long)all / 1024, (unsigned long long)full / 1024,
			      (unsigned long long)empty / 1024);
		/* the threads that off-CPU time is sized by come and go */
		assert_in_range(full, all / 10 * 7, all / 10 * 11);
		assert_true(empty <= full);
		sampler_free(s);
	}
}

TEST_GROUP(test_sampler, TEST(the_memory_of_all_maps_is_known_before_they_are_made),
	   TEST(without_privileges_there_is_a_reason), TEST(samples_of_the_target_arrive),
	   TEST(nothing_arrives_while_paused_or_after_the_end),
	   TEST(page_faults_of_the_target_arrive), TEST(waits_of_the_target_are_known),
	   TEST(a_thread_that_sleeps_since_before_the_start_is_found),
	   TEST(tables_are_memory_that_the_kernel_shares))
