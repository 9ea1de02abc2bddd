/* SPDX-License-Identifier: Apache-2.0 */
/* A whole session on a kernel side in memory (kernel.h). */
#include "profiler/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "profiler/sample_counts.h"
#include "tests/test.h"
#include "tests/unit/profiler/kernel.h"

/* A process that waits to be killed, and is not known to be a child of this one. */
static pid_t start_subject(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		for (;;)
			pause();
	return pid;
}

static void end_subject(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static struct session *open_session(struct session_opts opts)
{
	struct session *s = NULL;
	struct err err = { 0 };

	opts.sampler.max_chunks = 64;
	opts.keeps_priority = true;
	if (session_open(&s, &opts, &err) < 0)
		fail_msg("%s", err.msg);
	return s;
}

static struct session *start_session(struct session_opts opts)
{
	struct session *s = open_session(opts);

	assert_int_equal(session_start(s, NULL), 0);
	return s;
}

static void every_delivered_sample_is_counted(void **state)
{
	const struct sample_counts_thread *thread;
	const struct sample_counts *c;
	struct session_stats stats;
	struct session *s;
	const uint64_t *words;
	size_t n;

	kernel->pid = (uint32_t)start_subject();
	kernel->n_per_read = 7;
	s = start_session((struct session_opts){ 0 });
	for (int i = 0; i < 3; i++)
		assert_int_equal(session_poll(s, NULL), 0);
	assert_int_equal(session_stop(s, NULL), 0);
	c = session_counts(s);
	assert_int_equal(sample_counts_total(c), kernel->n_delivered);
	assert_true(sample_counts_total(c) >= 3 * 7);
	assert_int_equal(sample_counts_n_samples(c), 1);
	words = sample_counts_stack(c, sample_counts_sample(c, 0)->stack, &n);
	assert_int_equal(n, KERNEL_WORDS);
	assert_memory_equal(words, kernel_stack, sizeof(kernel_stack));
	thread = sample_counts_thread(c, sample_counts_sample(c, 0)->thread);
	assert_int_equal(thread->pid, kernel->pid);
	assert_string_equal(thread->comm, KERNEL_COMM);
	assert_int_equal(session_stats(s, &stats), 0);
	assert_int_equal(stats.records.n_samples, kernel->n_delivered);
	assert_int_equal(stats.backlog_bytes, 0);
	assert_int_equal(session_n_lost(&stats), 0);
	session_free(s);
	end_subject((pid_t)kernel->pid);
	assert_int_equal(kernel->n_attached, 1);
	assert_int_equal(kernel->n_detached, 1);
	assert_int_equal(kernel->n_freed, kernel->n_opened);
}

/* The sum has samples that the kernel lost, and those that had no room here. */
static void losses_are_summed(void **state)
{
	struct session_stats stats = { 0 };
	struct session *s;

	kernel->n_lost = 5;
	s = start_session((struct session_opts){ 0 });
	assert_int_equal(session_stop(s, NULL), 0);
	assert_int_equal(session_stats(s, &stats), 0);
	assert_int_equal(session_n_lost(&stats), 5);
	stats.records.n_bad = 2;
	stats.records.n_no_room = 3;
	assert_int_equal(session_n_lost(&stats), 10);
	session_free(s);
}

static void counts_are_swapped_between_windows(void **state)
{
	struct sample_counts *fresh, *old;
	struct session *s;

	kernel->pid = (uint32_t)start_subject();
	kernel->n_per_read = 4;
	kernel->n_samples = 4;
	s = start_session((struct session_opts){ 0 });
	assert_int_equal(session_poll(s, NULL), 0);
	assert_int_equal(sample_counts_new(&fresh, false), 0);
	old = session_swap_counts(s, fresh);
	assert_int_equal(sample_counts_total(old), 4);
	assert_ptr_equal(session_counts(s), fresh);
	kernel->n_samples = 6;
	assert_int_equal(session_poll(s, NULL), 0);
	assert_int_equal(sample_counts_total(fresh), 2);
	session_sweep_files(s, old);
	sample_counts_free(old);
	assert_int_equal(session_stop(s, NULL), 0);
	session_free(s);
	end_subject((pid_t)kernel->pid);
}

static void a_pause_delivers_nothing(void **state)
{
	struct session *s;

	kernel->pid = (uint32_t)start_subject();
	kernel->n_per_read = 1;
	s = start_session((struct session_opts){ 0 });
	assert_int_equal(session_pause(s, true), 0);
	assert_int_equal(session_poll(s, NULL), 0);
	assert_int_equal(kernel->n_delivered, 0);
	assert_int_equal(session_pause(s, false), 0);
	assert_int_equal(session_poll(s, NULL), 0);
	assert_true(kernel->n_delivered > 0);
	assert_int_equal(session_stop(s, NULL), 0);
	session_free(s);
	end_subject((pid_t)kernel->pid);
}

/* This process and its children are those of the profiler. */
static void own_samples_can_be_excluded(void **state)
{
	struct session_stats stats;
	struct session *s;

	kernel->pid = (uint32_t)getpid();
	kernel->n_per_read = 3;
	s = start_session((struct session_opts){ .exclude_self = true });
	assert_int_equal(session_poll(s, NULL), 0);
	assert_int_equal(session_stop(s, NULL), 0);
	assert_int_equal(session_stats(s, &stats), 0);
	assert_true(kernel->n_delivered > 0);
	assert_int_equal(stats.records.n_excluded, kernel->n_delivered);
	assert_int_equal(sample_counts_total(session_counts(s)), 0);
	session_free(s);
}

static void followed_processes_are_targets(void **state)
{
	struct session *s = open_session((struct session_opts){ .sampler.targets_only = true });
	pid_t pid = start_subject();

	assert_int_equal(session_follow(s, (uint32_t)pid), 0);
	assert_true(kernel->is_targets_only);
	assert_int_equal(kernel->n_targets, 1);
	assert_int_equal(kernel->targets[0], pid);
	session_free(s);
	end_subject(pid);
}

static bool is_target(uint32_t pid)
{
	for (uint32_t i = 0; i < kernel->n_targets; i++)
		if (kernel->targets[i] == pid)
			return true;
	return false;
}

static void descendants_are_followed_unless_that_is_off(void **state)
{
	struct session *s = open_session((struct session_opts){ .sampler.targets_only = true });
	pid_t pid = start_subject();

	assert_int_equal(session_follow(s, (uint32_t)getpid()), 0);
	assert_true(is_target((uint32_t)getpid()));
	assert_true(is_target((uint32_t)pid));
	session_free(s);
	kernel->n_targets = 0;
	s = open_session(
		(struct session_opts){ .sampler.targets_only = true, .sampler.no_children = true });
	assert_int_equal(session_follow(s, (uint32_t)getpid()), 0);
	assert_int_equal(kernel->n_targets, 1);
	session_free(s);
	end_subject(pid);
}

/* The start is the process's: another program with this pid is not the one that was seen. */
static void a_program_has_ended_when_its_process_has(void **state)
{
	pid_t pid = start_subject();
	struct session *s;
	uint64_t start_ns = 0;

	kernel->pid = (uint32_t)pid;
	kernel->n_per_read = 1;
	s = start_session((struct session_opts){ 0 });
	assert_int_equal(session_poll(s, NULL), 0);
	start_ns = sample_counts_thread(session_counts(s), 0)->start_ns;
	assert_false(session_program_has_ended(s, (uint32_t)pid, start_ns));
	assert_true(session_program_has_ended(s, (uint32_t)pid, start_ns + 1));
	assert_true(session_program_has_ended(s, 1u << 30, start_ns));
	kernel->events[0] = (struct sideband_event){ .type = SIDEBAND_EXIT,
						     .pid = (uint32_t)pid,
						     .tid = (uint32_t)pid,
						     .time_ns = session_start_ns(s) + 1 };
	kernel->n_events = 1;
	end_subject(pid);
	assert_int_equal(session_poll(s, NULL), 0);
	assert_true(session_program_has_ended(s, (uint32_t)pid, start_ns));
	session_free(s);
}

static void failures_of_the_kernel_side_have_a_reason(void **state)
{
	const struct session_opts opts = { .sampler.max_chunks = 1 };
	struct session *s = NULL;
	struct err err = { 0 };

	kernel->open_error = -EPERM;
	assert_int_equal(session_open(&s, &opts, &err), -EPERM);
	assert_string_equal(err.msg, "the kernel refuses: run as root");
	kernel->open_error = 0;
	kernel->sideband_error = -EMFILE;
	err = (struct err){ 0 };
	assert_int_equal(session_open(&s, &opts, &err), -EMFILE);
	assert_string_equal(err.msg, "the kernel refuses the side-band");
	assert_null(s);
	assert_int_equal(kernel->n_freed, kernel->n_opened);
	kernel->sideband_error = 0;
	kernel->attach_error = -ENODEV;
	s = open_session((struct session_opts){ 0 });
	assert_int_equal(session_start(s, &err), -ENODEV);
	session_free(s);
	kernel->attach_error = 0;
	s = start_session((struct session_opts){ 0 });
	kernel->consume_error = -EIO;
	err = (struct err){ 0 };
	assert_int_equal(session_poll(s, &err), -EIO);
	assert_string_equal(err.msg, "cannot read samples: Input/output error");
	err = (struct err){ 0 };
	assert_int_equal(session_stop(s, &err), -EIO);
	assert_string_equal(err.msg, "cannot read samples: Input/output error");
	session_free(s);
}

static void a_missing_off_cpu_source_is_reported(void **state)
{
	struct session *s;

	kernel->offcpu_error = "no tracepoint";
	s = start_session((struct session_opts){ .sampler.off_cpu = true });
	assert_string_equal(session_offcpu_error(s), "no tracepoint");
	assert_int_equal(session_count_waits(s), 0);
	assert_int_equal(session_stop(s, NULL), 0);
	session_free(s);
}

int test_session(void);
int test_session(void)
{
	const struct CMUnitTest tests[] = {
		KERNEL_TEST(every_delivered_sample_is_counted),
		KERNEL_TEST(losses_are_summed),
		KERNEL_TEST(counts_are_swapped_between_windows),
		KERNEL_TEST(a_pause_delivers_nothing),
		KERNEL_TEST(own_samples_can_be_excluded),
		KERNEL_TEST(followed_processes_are_targets),
		KERNEL_TEST(descendants_are_followed_unless_that_is_off),
		KERNEL_TEST(a_program_has_ended_when_its_process_has),
		KERNEL_TEST(failures_of_the_kernel_side_have_a_reason),
		KERNEL_TEST(a_missing_off_cpu_source_is_reported),
	};

	return TEST_RUN("test_session", tests, NULL, NULL);
}
