/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens real rings, which requires CAP_PERFMON. sideband_event.c tests what is decoded from them.
 */
#include "process/sideband.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "sampler/cpu_list.h"
#include "tests/test.h"

enum { PATIENCE_MS = 60000 };

/* The events of one process. */
struct seen {
	uint32_t pid;
	bool fork, exec, map, exit;
	uint64_t last_ns;
};

static void see(void *ctx, const struct sideband_event *ev)
{
	struct seen *s = ctx;

	if (ev->pid != s->pid)
		return;
	assert_true(ev->time_ns >= s->last_ns);
	s->last_ns = ev->time_ns;
	s->fork |= ev->type == SIDEBAND_FORK && ev->ppid == (uint32_t)getpid();
	s->exec |= ev->type == SIDEBAND_EXEC && !strcmp(ev->name, "true");
	s->map |= ev->type == SIDEBAND_MAP && ev->inode && strstr(ev->name, "true");
	s->exit |= ev->type == SIDEBAND_EXIT && ev->tid == ev->pid;
}

static void ignore(void *ctx, const struct sideband_event *ev)
{
}

/* Opens the rings, or skips the test where that is not permitted. */
static struct sideband *open_rings(void)
{
	struct err err = { 0 };
	struct sideband *sb;
	int r = sideband_open(&sb, 0, &err);

	if (r == -EPERM || r == -EACCES) {
		assert_non_null(strstr(err.msg, "kernel.perf_event_paranoid"));
		skip();
	}
	if (r == -ENOSYS || r == -ENOENT)
		skip(); /* The kernel has no perf events. */
	assert_int_equal(r, 0);
	return sb;
}

/* Runs true(1), and waits until all of its events were delivered. */
static void check_child(struct sideband *sb)
{
	struct seen seen = { 0 };
	int64_t end = clock_monotonic_ms() + PATIENCE_MS;
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	seen.pid = (uint32_t)pid;
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	while (!seen.exit && clock_monotonic_ms() < end) {
		struct pollfd p = { .fd = sideband_fd(sb), .events = POLLIN };

		poll(&p, 1, 1000);
		assert_true(sideband_consume(sb, clock_monotonic_ns(), see, &seen) >= 0);
	}
	assert_true(seen.fork && seen.exec && seen.map && seen.exit);
}

static void a_process_is_followed_from_fork_to_exit(void **state)
{
	struct sideband *sb = open_rings();

	check_child(sb);
	check_child(sb);
	sideband_free(sb);
}

static void rings_are_opened_once_and_may_be_reopened(void **state)
{
	struct sideband *sb = open_rings();
	struct cpu_list cpus = { 0 };

	assert_int_equal(sideband_update_cpus(sb, NULL), 0);
	check_child(sb);
	assert_int_equal(cpu_list_online(&cpus, NULL), 0);
	for (size_t i = 0; i < cpus.len; i++)
		assert_int_equal(sideband_reopen_cpu(sb, cpus.data[i], NULL), 0);
	vec_fini(&cpus);
	check_child(sb);
	sideband_free(sb);
}

static void a_cpu_that_cannot_exist_is_an_error(void **state)
{
	struct sideband *sb = open_rings();
	struct err err = { 0 };

	assert_true(sideband_reopen_cpu(sb, 1 << 20, &err) < 0);
	assert_string_equal(err.msg, "cannot watch processes on CPU 1048576: Invalid argument");
	assert_true(sideband_consume(sb, clock_monotonic_ns(), ignore, NULL) >= 0);
	check_child(sb);
	sideband_free(sb);
}

TEST_GROUP(test_sideband, TEST(a_process_is_followed_from_fork_to_exit),
	   TEST(rings_are_opened_once_and_may_be_reopened),
	   TEST(a_cpu_that_cannot_exist_is_an_error))
