/* SPDX-License-Identifier: Apache-2.0 */
#include "roles/launcher.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "roles/pool.h"
#include "roles/role.h"
#include "tests/test.h"

enum { ECHO = 1, HANG, CRASH, MEMORY = 64 << 20, WAIT_S = 60, TIMEOUT_MS = 60000 };

static int job_echo(struct role_call *call)
{
	memcpy(call->reply, call->request, call->request_len);
	call->reply_len = call->request_len;
	return 0;
}

static int job_hang(struct role_call *call)
{
	pause();
	return 0;
}

static int job_crash(struct role_call *call)
{
	_exit(3);
}

static const struct role_job jobs[] = { { ECHO, 1, job_echo },
					{ HANG, 0, job_hang },
					{ CRASH, 0, job_crash } };

extern const struct role launcher_test_role;
const struct role launcher_test_role = { .name = "cameo-test-launcher",
					 .sandbox = SANDBOX_EXPORTER,
					 .jobs = jobs,
					 .n_jobs = 3,
					 .may_launch = true };

static struct role_launcher *new_launcher(void)
{
	struct role_launcher *l;

	assert_int_equal(role_launcher_new(&l, &launcher_test_role, MEMORY, NULL), 0);
	return l;
}

static struct role_pool *new_pool(struct role_launcher *l)
{
	const struct role_pool_opts opts = {
		.max_children = 2, .max_abandoned = 2, .memory_bytes = MEMORY, .launcher = l
	};
	struct role_pool *p;

	assert_int_equal(role_pool_new(&p, &launcher_test_role, &opts, NULL), 0);
	return p;
}

static int call(struct role_pool *p, uint32_t kind)
{
	const struct role_request rq = {
		.kind = kind, .data = "x", .len = 1, .timeout_ms = TIMEOUT_MS
	};
	_cleanup_(role_exchange_endp) struct role_exchange *x = NULL;

	return role_pool_call(p, &rq, &x);
}

/* Waits until @pid is gone. */
static void wait_for_end(pid_t pid)
{
	uint64_t end_ns = clock_monotonic_ns() + WAIT_S * (uint64_t)CLOCK_SECOND_NS;

	while (kill(pid, 0) == 0 && clock_monotonic_ns() < end_ns)
		usleep(1000);
	assert_true(kill(pid, 0) < 0 && errno == ESRCH);
}

static void a_copy_runs_jobs_and_is_confined_like_the_launcher(void **state)
{
	struct role_launcher *l = new_launcher();
	struct role_pool *p = new_pool(l);
	char report[256];

	assert_int_equal(call(p, ECHO), 0);
	assert_int_not_equal(role_pool_pid(p), role_launcher_pid(l));
	role_pool_confinement(p, report, sizeof(report));
	assert_non_null(strstr(report, "no capabilities"));
	role_pool_free(p);
	role_launcher_free(l);
}

static void a_copy_that_dies_is_replaced(void **state)
{
	struct role_launcher *l = new_launcher();
	struct role_pool *p = new_pool(l);
	struct role_counters c;

	for (int i = 0; i < 10; i++) {
		assert_int_equal(call(p, CRASH), -EPIPE);
		assert_int_equal(call(p, ECHO), 0);
	}
	role_pool_counters(p, &c);
	assert_int_equal(c.deaths, 10);
	assert_false(role_launcher_is_dead(l));
	role_pool_free(p);
	role_launcher_free(l);
}

static void a_copy_ends_in_the_middle_of_a_job_when_it_is_not_needed(void **state)
{
	const struct role_request rq = { .kind = HANG, .timeout_ms = TIMEOUT_MS };
	struct role_launcher *l = new_launcher();
	struct role_pool *p = new_pool(l);
	struct role_exchange *x;
	pid_t pid;

	assert_int_equal(call(p, ECHO), 0);
	pid = role_pool_pid(p);
	assert_int_equal(role_pool_start(p, &rq, 0, &x), 0);
	assert_int_equal(role_exchange_poll(x, 20), -EAGAIN);
	role_exchange_end(x);
	wait_for_end(pid);
	role_pool_free(p);
	role_launcher_free(l);
}

static void nothing_is_left_of_a_launcher_that_ends(void **state)
{
	struct role_launcher *l = new_launcher();
	struct role_pool *p = new_pool(l);
	pid_t launcher = role_launcher_pid(l), copy = role_pool_pid(p);

	assert_int_equal(call(p, ECHO), 0);
	role_launcher_free(l);
	wait_for_end(launcher);
	wait_for_end(copy);
	role_pool_free(p);
}

static void a_dead_launcher_is_noticed(void **state)
{
	struct role_launcher *l = new_launcher();
	struct err err = { 0 };
	pid_t pid;
	int sock;

	assert_int_equal(role_launcher_start(l, &pid, &sock, &err), 0);
	close(sock);
	assert_false(role_launcher_is_dead(l));
	if (kill(role_launcher_pid(l), SIGKILL) < 0)
		skip(); /* without privileges, it may have another user */
	while (!role_launcher_is_dead(l))
		usleep(1000);
	assert_int_equal(role_launcher_start(l, &pid, &sock, &err), -EPIPE);
	assert_non_null(strstr(err.msg, "the launcher process has died"));
	role_launcher_free(l);
}

int test_launcher(void);
int test_launcher(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_copy_runs_jobs_and_is_confined_like_the_launcher),
		TEST(a_copy_that_dies_is_replaced),
		TEST(a_copy_ends_in_the_middle_of_a_job_when_it_is_not_needed),
		TEST(nothing_is_left_of_a_launcher_that_ends),
		TEST(a_dead_launcher_is_noticed),
	};

	return TEST_RUN("launcher", tests, NULL, NULL);
}
