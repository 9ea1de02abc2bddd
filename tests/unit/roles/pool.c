/* SPDX-License-Identifier: Apache-2.0 */
#include "roles/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "roles/memfd.h"
#include "roles/role.h"
#include "tests/test.h"

/* ---- the child ----------------------------------------------------------------------------- */

enum job { ECHO = 1, HANG, CRASH, GARBAGE, STALE, PARTS, ASK, MEMFD, SIZE, COMPUTE };

enum { N_PARTS = 10, TIMEOUT_MS = 20000, COMPUTE_MS = 20, CPU_MS = 200 };

static int job_echo(struct role_call *call)
{
	memcpy(call->reply, call->request, call->request_len);
	call->reply_len = call->request_len;
	return call->request_len ? 0 : -ENODATA;
}

static int job_hang(struct role_call *call)
{
	for (volatile int forever = 1; forever;)
		;
	return 0;
}

/* Uses COMPUTE_MS of CPU time. */
static int job_compute(struct role_call *call)
{
	struct timespec t;
	uint64_t began = 0, now;

	do {
		if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) < 0)
			return -errno;
		now = (uint64_t)t.tv_sec * CLOCK_SECOND_NS + (uint64_t)t.tv_nsec;
		began = began ? began : now;
	} while (now - began < COMPUTE_MS * CLOCK_MS_NS);
	return 0;
}

static int job_crash(struct role_call *call)
{
	_exit(3);
}

static int job_garbage(struct role_call *call)
{
	struct iovec iov = { (void *)"garbage", 7 };
	const struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	return (int)sendmsg(call->sock, &msg, MSG_NOSIGNAL);
}

/* Replies to a request that was not made. */
static int job_stale(struct role_call *call)
{
	call->request_id--;
	return role_call_part(call, 0, "", 0);
}

static int job_parts(struct role_call *call)
{
	for (uint32_t i = 0; i < N_PARTS; i++)
		role_call_part(call, i, &i, sizeof(i));
	return 0;
}

/* Requests a file and replies with its first bytes. */
static int job_ask(struct role_call *call)
{
	int fd = -1, r = role_call_question(call, 11, "file", 4, &fd);
	ssize_t n = fd < 0 ? 0 : pread(fd, call->reply, 4, 0);

	call->reply_len = n < 0 ? 0 : (size_t)n;
	if (fd >= 0)
		close(fd);
	return r;
}

static int job_memfd(struct role_call *call)
{
	struct role_memfd m;
	int r = role_memfd_new(&m, 100000);

	if (r < 0)
		return r;
	memset(m.data, 'm', m.len);
	r = role_memfd_seal(&m);
	if (r < 0)
		return r;
	call->reply_fds[call->n_reply_fds++] = r;
	return 0;
}

/* Replies with the size of the file that was received. */
static int job_size(struct role_call *call)
{
	struct stat st;

	if (call->n_fds != 1 || fstat(call->fds[0], &st) < 0)
		return -EINVAL;
	memcpy(call->reply, &st.st_size, sizeof(st.st_size));
	call->reply_len = sizeof(st.st_size);
	return 0;
}

static const struct role_job jobs[] = {
	{ ECHO, 0, job_echo },       { HANG, 0, job_hang },   { CRASH, 0, job_crash },
	{ GARBAGE, 0, job_garbage }, { STALE, 0, job_stale }, { PARTS, 0, job_parts },
	{ ASK, 0, job_ask },         { MEMFD, 0, job_memfd }, { SIZE, 8, job_size },
	{ COMPUTE, 0, job_compute },
};

const struct role pool_test_role = {
	.name = "cameo-test-role",
	.sandbox = SANDBOX_READER,
	.jobs = jobs,
	.n_jobs = sizeof(jobs) / sizeof(*jobs),
};

static int fail_init(size_t memory_bytes, void **out_state)
{
	return -ENOMEM;
}

const struct role pool_test_broken_role = {
	.name = "cameo-test-broken",
	.sandbox = SANDBOX_READER,
	.init = fail_init,
};

/* ---- the parent ---------------------------------------------------------------------------- */

static struct role_pool *new_pool(unsigned int max_children)
{
	const struct role_pool_opts opts = {
		.max_children = max_children,
		.max_abandoned = 4,
		.memory_bytes = 64 << 20,
	};
	struct role_pool *p;

	assert_int_equal(role_pool_new(&p, &pool_test_role, &opts, NULL), 0);
	return p;
}

static struct role_counters counters(struct role_pool *p)
{
	struct role_counters c;

	role_pool_counters(p, &c);
	return c;
}

/* Runs one job without a payer and returns the error of the call. */
static int call(struct role_pool *p, enum job kind, unsigned int timeout_ms)
{
	const struct role_request request = {
		.kind = kind,
		.data = "abcd",
		.len = 4,
		.timeout_ms = timeout_ms,
	};
	struct role_exchange *x;
	int r = role_pool_call(p, &request, &x);

	if (r == 0)
		r = role_exchange_reply(x)->result;
	role_exchange_end(x);
	return r;
}

static void a_request_is_answered(void **state)
{
	struct role_pool *p = new_pool(1);
	const struct role_request request = {
		.kind = ECHO,
		.data = "hello",
		.len = 5,
		.timeout_ms = TIMEOUT_MS,
	};
	struct role_exchange *x;

	assert_int_equal(role_pool_call(p, &request, &x), 0);
	assert_int_equal(role_exchange_reply(x)->len, 5);
	assert_memory_equal(role_exchange_reply(x)->data, "hello", 5);
	role_exchange_end(x);
	assert_int_equal(call(p, 99, TIMEOUT_MS), -EOPNOTSUPP);
	assert_int_equal(call(p, SIZE, TIMEOUT_MS), -EOPNOTSUPP);
	assert_int_equal(counters(p).started, 1);
	role_pool_free(p);
}

static void a_descriptor_reaches_the_job(void **state)
{
	struct role_pool *p = new_pool(1);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const struct role_request request = {
		.kind = SIZE,
		.data = "12345678",
		.len = 8,
		.fds = &fd,
		.n_fds = 1,
		.timeout_ms = TIMEOUT_MS,
	};
	struct role_exchange *x;
	struct stat st;
	off_t size;

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(role_pool_call(p, &request, &x), 0);
	assert_int_equal(role_exchange_reply(x)->result, 0);
	memcpy(&size, role_exchange_reply(x)->data, sizeof(size));
	assert_int_equal(size, st.st_size);
	role_exchange_end(x);
	close(fd);
	role_pool_free(p);
}

/* It is replaced at once or, if others had the CPUs meanwhile, when it has used up its time. */
static void a_child_that_hangs_is_replaced(void **state)
{
	struct role_pool *p = new_pool(1);

	assert_int_equal(call(p, HANG, 20), -ETIMEDOUT);
	assert_int_equal(call(p, ECHO, TIMEOUT_MS), 0);
	assert_int_equal(call(p, HANG, 20), -ETIMEDOUT);
	assert_int_equal(call(p, ECHO, TIMEOUT_MS), 0);
	assert_int_equal(counters(p).timeouts, 2);
	role_pool_free(p);
}

/* A program that computes all the time on the only CPU of @pid, which runs when nobody else does.
 */
static pid_t starve(pid_t pid)
{
	const struct sched_param param = { 0 };
	int cpu = sched_getcpu();
	cpu_set_t one;
	pid_t other;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_return_code(sched_setaffinity(pid, sizeof(one), &one), errno);
	assert_return_code(sched_setscheduler(pid, SCHED_IDLE, &param), errno);
	other = fork();
	assert_true(other >= 0);
	if (other)
		return other;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)sched_setaffinity(0, sizeof(one), &one);
	for (;;)
		;
}

/* Ends the program @other, and lets @pid run like any other process again. */
static void end_starvation(pid_t other, pid_t pid)
{
	const struct sched_param param = { 0 };
	cpu_set_t all;

	assert_return_code(kill(other, SIGKILL), errno);
	assert_int_equal(waitpid(other, NULL, 0), other);
	assert_return_code(sched_getaffinity(0, sizeof(all), &all), errno);
	assert_return_code(sched_setaffinity(pid, sizeof(all), &all), errno);
	assert_return_code(sched_setscheduler(pid, SCHED_OTHER, &param), errno);
}

/* Calls COMPUTE, which takes 20 ms of CPU time, as a thread that samples does. */
static int call_urgently(struct role_pool *p, unsigned int timeout_ms)
{
	const struct role_request request = {
		.kind = COMPUTE, .timeout_ms = timeout_ms, .is_urgent = true, .payers = { 17 }
	};
	struct role_exchange *x;
	int r = role_pool_call(p, &request, &x);

	role_exchange_end(x);
	return r;
}

/*
 * A child that gets no CPU costs its caller twice the limit. It is neither charged nor killed, and
 * works again when its CPU is free.
 */
static void an_urgent_caller_leaves_a_child_that_others_keep_from_the_cpus(void **state)
{
	struct role_pool *p = new_pool(1);
	uint64_t began_ns, took_ns;
	pid_t other, child;
	int r;

	assert_int_equal(call(p, ECHO, TIMEOUT_MS), 0);
	child = role_pool_pid(p);
	other = starve(child);
	began_ns = clock_monotonic_ns();
	for (r = 0; r == 0;)
		r = call_urgently(p, 2 * COMPUTE_MS);
	took_ns = clock_monotonic_ns() - began_ns;
	assert_int_equal(r, -ETIMEDOUT);
	assert_true(took_ns < TIMEOUT_MS * (uint64_t)CLOCK_MS_NS);
	assert_int_equal(counters(p).late, 1);
	assert_int_equal(counters(p).timeouts, 0);
	end_starvation(other, child);
	/* the same payer; its request waits until the late one is finished */
	assert_int_equal(call_urgently(p, TIMEOUT_MS), 0);
	assert_int_equal(role_pool_pid(p), child);
	assert_int_equal(counters(p).started, 1);
	role_pool_free(p);
}

/* A late job that fails costs the next request nothing but the start of another child. */
static void late_jobs_that_fail_are_ended_by_the_next_request(void **state)
{
	const enum job kinds[] = { HANG, CRASH, GARBAGE, PARTS, ASK };
	_Atomic uint64_t past_ns = 1;
	struct role_pool *p = new_pool(1);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct role_request request = { .kind = kinds[i],
						      .timeout_ms = i ? TIMEOUT_MS : COMPUTE_MS,
						      .until_ns = &past_ns };
		struct role_exchange *x;

		assert_int_equal(role_pool_start(p, &request, TIMEOUT_MS, &x), 0);
		assert_int_equal(role_exchange_wait(x), -ETIMEDOUT);
		role_exchange_end(x);
		assert_int_equal(call(p, ECHO, TIMEOUT_MS), 0);
	}
	assert_int_equal(counters(p).late, 5);
	assert_int_equal(counters(p).timeouts, 1);
	assert_int_equal(counters(p).deaths, 1);
	assert_int_equal(counters(p).garbage, 1);
	assert_int_equal(counters(p).started, 4);
	role_pool_free(p);
}

static void a_child_that_computes_too_much_is_replaced(void **state)
{
	struct role_pool *p = new_pool(1);
	struct role_request request = { .timeout_ms = 2 * TIMEOUT_MS, .cpu_ms = CPU_MS };
	uint64_t began_ns = clock_monotonic_ns();
	struct role_exchange *x;

	/* what earlier jobs of the child used does not count */
	request.kind = COMPUTE;
	for (int i = 0; i < 2 * CPU_MS / COMPUTE_MS; i++) {
		assert_int_equal(role_pool_call(p, &request, &x), 0);
		role_exchange_end(x);
	}
	request.kind = HANG;
	assert_int_equal(role_pool_call(p, &request, &x), -ETIMEDOUT);
	assert_true(clock_monotonic_ns() - began_ns < TIMEOUT_MS * (uint64_t)CLOCK_MS_NS);
	assert_int_equal(counters(p).timeouts, 1);
	assert_int_equal(counters(p).started, 2);
	role_pool_free(p);
}

/* Others have the CPUs for longer than a job may compute: here, the child is stopped meanwhile. */
static void a_child_that_is_kept_from_the_cpus_is_waited_for(void **state)
{
	struct role_pool *p = new_pool(1);
	const struct role_request request = {
		.kind = COMPUTE,
		.timeout_ms = TIMEOUT_MS,
		.cpu_ms = CPU_MS,
	};
	struct role_exchange *x;
	int r;

	assert_int_equal(call(p, ECHO, TIMEOUT_MS), 0);
	assert_int_equal(kill(role_pool_pid(p), SIGSTOP), 0);
	assert_int_equal(role_pool_start(p, &request, 0, &x), 0);
	assert_int_equal(role_exchange_poll(x, 2 * CPU_MS), -EAGAIN);
	assert_int_equal(kill(role_pool_pid(p), SIGCONT), 0);
	do
		r = role_exchange_poll(x, TIMEOUT_MS);
	while (r == -EAGAIN);
	assert_int_equal(r, 0);
	role_exchange_end(x);
	assert_int_equal(counters(p).timeouts, 0);
	role_pool_free(p);
}

/* The CPU time is not used up, but the other limit is. */
static void a_child_that_sleeps_is_replaced(void **state)
{
	struct role_pool *p = new_pool(1);
	const struct role_request request = { .kind = ECHO, .timeout_ms = 20, .cpu_ms = 60000 };
	struct role_exchange *x;

	assert_int_equal(call(p, ECHO, TIMEOUT_MS), 0);
	assert_int_equal(kill(role_pool_pid(p), SIGSTOP), 0);
	assert_int_equal(role_pool_call(p, &request, &x), -ETIMEDOUT);
	assert_int_equal(call(p, ECHO, TIMEOUT_MS), 0);
	role_pool_free(p);
}

static void garbage_and_crashes_cost_one_request(void **state)
{
	struct role_pool *p = new_pool(1);

	for (int i = 0; i < 3; i++) {
		assert_int_equal(call(p, GARBAGE, TIMEOUT_MS), -EBADMSG);
		assert_int_equal(call(p, STALE, TIMEOUT_MS), -EBADMSG);
		assert_int_equal(call(p, PARTS, TIMEOUT_MS), -EBADMSG);
		assert_int_equal(call(p, ASK, TIMEOUT_MS), -EBADMSG);
		assert_int_equal(call(p, CRASH, TIMEOUT_MS), -EPIPE);
		assert_int_equal(call(p, ECHO, TIMEOUT_MS), 0);
	}
	assert_int_equal(counters(p).garbage, 12);
	assert_int_equal(counters(p).deaths, 3);
	role_pool_free(p);
}

static int on_part(void *ctx, uint32_t kind, const void *data, size_t len)
{
	uint32_t *n = ctx, value;

	assert_int_equal(len, sizeof(value));
	memcpy(&value, data, sizeof(value));
	assert_int_equal(value, kind);
	assert_int_equal(value, *n);
	++*n;
	return 0;
}

static void parts_arrive_in_order(void **state)
{
	struct role_pool *p = new_pool(1);
	uint32_t n = 0;
	const struct role_request request = {
		.kind = PARTS,
		.timeout_ms = TIMEOUT_MS,
		.part = on_part,
		.ctx = &n,
	};
	struct role_exchange *x;

	assert_int_equal(role_pool_call(p, &request, &x), 0);
	assert_int_equal(n, N_PARTS);
	role_exchange_end(x);
	role_pool_free(p);
}

static int on_question(void *ctx, uint32_t kind, const void *data, size_t len, int *out_fd)
{
	assert_int_equal(kind, 11);
	assert_memory_equal(data, "file", 4);
	*out_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	return 0;
}

static void a_question_is_answered_with_a_descriptor(void **state)
{
	struct role_pool *p = new_pool(1);
	const struct role_request request = {
		.kind = ASK,
		.timeout_ms = TIMEOUT_MS,
		.answer = on_question,
	};
	struct role_exchange *x;

	assert_int_equal(role_pool_call(p, &request, &x), 0);
	assert_int_equal(role_exchange_reply(x)->len, 4);
	assert_memory_equal(role_exchange_reply(x)->data, "\177ELF", 4);
	role_exchange_end(x);
	role_pool_free(p);
}

static void a_memory_file_is_sealed(void **state)
{
	struct role_pool *p = new_pool(1);
	const struct role_request request = { .kind = MEMFD, .timeout_ms = TIMEOUT_MS };
	struct role_exchange *x;
	struct role_memfd m;

	assert_int_equal(role_pool_call(p, &request, &x), 0);
	assert_int_equal(role_exchange_reply(x)->result, 0);
	assert_int_equal(role_exchange_reply(x)->n_fds, 1);
	assert_int_equal(role_memfd_map(&m, role_exchange_reply(x)->fds[0], 99999), -EFBIG);
	assert_int_equal(role_memfd_map(&m, role_exchange_reply(x)->fds[0], 100000), 0);
	assert_int_equal(m.len, 100000);
	assert_int_equal(((const char *)m.data)[99999], 'm');
	role_memfd_unmap(&m);
	role_exchange_end(x);
	role_pool_free(p);
}

static void an_unsealed_memory_file_is_refused(void **state)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct role_memfd m;

	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(role_memfd_map(&m, fd, 4096), -EBADMSG);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	assert_int_equal(role_memfd_map(&m, fd, 4096), -EBADMSG);
	close(fd);
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(role_memfd_map(&m, fd, 4096), -EBADMSG);
	close(fd);
}

/* A call that meets a child that was just killed fails; a later one does not. */
static void expect_recovery(struct role_pool *p)
{
	uint64_t until_ns = clock_monotonic_ns() + 20 * (uint64_t)CLOCK_SECOND_NS;
	int r;

	do
		r = call(p, ECHO, TIMEOUT_MS);
	while (r < 0 && clock_monotonic_ns() < until_ns);
	assert_int_equal(r, 0);
}

static void children_killed_ten_times_come_back(void **state)
{
	struct role_pool *p = new_pool(1);

	/* half of them are killed while they start */
	for (int i = 0; i < 10; i++) {
		if (i % 2)
			expect_recovery(p);
		else
			(void)call(p, ECHO, 1);
		if (role_pool_pid(p))
			kill(role_pool_pid(p), SIGKILL);
	}
	expect_recovery(p);
	role_pool_free(p);
}

static void starting_is_tried_for_ever_but_backs_off(void **state)
{
	const struct role_pool_opts opts = {
		.max_children = 1,
		.max_abandoned = 4,
		.memory_bytes = 64 << 20,
	};
	struct role_pool *p;

	assert_int_equal(role_pool_new(&p, &pool_test_broken_role, &opts, NULL), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(call(p, ECHO, 3000), -EPIPE);
	assert_int_equal(call(p, ECHO, 0), -EAGAIN);
	assert_true(counters(p).started >= 3);
	role_pool_free(p);
}

static void a_payer_of_a_failure_is_refused_and_others_are_not(void **state)
{
	struct role_pool *p = new_pool(1);
	struct role_request request = { .kind = HANG, .timeout_ms = 20, .payers = { 17 } };
	struct role_exchange *x;
	int r;

	/* nobody is charged for a child that got no CPU */
	do
		r = role_pool_call(p, &request, &x);
	while (r == -ETIMEDOUT || r == -EAGAIN);
	assert_int_equal(r, -ETIME);
	assert_null(x);
	request.kind = ECHO;
	request.timeout_ms = TIMEOUT_MS;
	request.payers[0] = 18;
	assert_int_equal(role_pool_call(p, &request, &x), 0);
	role_exchange_end(x);
	assert_true(counters(p).refused >= 1);
	role_pool_free(p);
}

/*
 * Starts a tracer of @pid, which keeps it unreaped after it was killed, as if it hung in the
 * kernel. Returns 0 if nobody may trace it.
 */
static pid_t trace(pid_t pid)
{
	int ends[2];
	pid_t tracer;
	char ok = 0;

	assert_int_equal(pipe(ends), 0);
	tracer = fork();
	assert_true(tracer >= 0);
	if (tracer == 0) {
		ok = ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0;
		if (write(ends[1], &ok, 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ends[0], &ok, 1), 1);
	close(ends[0]);
	close(ends[1]);
	if (ok)
		return tracer;
	kill(tracer, SIGKILL);
	waitpid(tracer, NULL, 0);
	return 0;
}

static int call_for(struct role_pool *p, uint64_t owner)
{
	const struct role_request request = { .kind = ECHO,
					      .timeout_ms = TIMEOUT_MS,
					      .owner = owner };
	struct role_exchange *x;
	int r = role_pool_call(p, &request, &x);

	role_exchange_end(x);
	return r;
}

static void an_owner_of_children_that_hang_is_refused_and_others_are_not(void **state)
{
	const struct role_pool_opts opts = {
		.max_children = 1,
		.max_abandoned = 8,
		.max_abandoned_by_owner = 2,
		.memory_bytes = 64 << 20,
	};
	const struct role_request request = { .kind = HANG, .timeout_ms = TIMEOUT_MS, .owner = 5 };
	pid_t tracers[2] = { 0 };
	struct role_exchange *x;
	struct role_pool *p;

	(void)state;
	assert_int_equal(role_pool_new(&p, &pool_test_role, &opts, NULL), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(call_for(p, 5), 0);
		assert_int_equal(role_pool_start(p, &request, TIMEOUT_MS, &x), 0);
		tracers[i] = trace(role_pool_pid(p));
		role_exchange_end(x);
		if (!tracers[i])
			break;
	}
	if (tracers[1]) {
		assert_int_equal(call_for(p, 5), -ETIME);
		assert_int_equal(call_for(p, 6), 0);
		assert_int_equal(call_for(p, 0), 0);
	}
	for (int i = 0; i < 2 && tracers[i]; i++) {
		kill(tracers[i], SIGKILL);
		waitpid(tracers[i], NULL, 0);
	}
	expect_recovery(p);
	assert_int_equal(call_for(p, 5), 0);
	role_pool_free(p);
	if (!tracers[1])
		skip();
}

static void an_exchange_need_not_be_waited_for(void **state)
{
	struct role_pool *p = new_pool(2);
	const struct role_request slow = { .kind = HANG, .timeout_ms = TIMEOUT_MS };
	struct role_exchange *x, *y;

	assert_int_equal(role_pool_start(p, &slow, TIMEOUT_MS, &x), 0);
	assert_int_equal(role_exchange_poll(x, 0), -EAGAIN);
	assert_int_equal(call(p, ECHO, TIMEOUT_MS), 0);
	assert_int_equal(role_pool_start(p, &slow, TIMEOUT_MS, &y), 0);
	assert_int_equal(call(p, ECHO, 20), -EAGAIN); /* both are busy */
	role_exchange_end(x);
	assert_int_equal(call(p, ECHO, TIMEOUT_MS), 0);
	role_exchange_end(y);
	assert_int_equal(counters(p).timeouts, 0);
	role_pool_free(p);
}

static void *call_often(void *arg)
{
	for (int i = 0; i < 100; i++)
		if (call(arg, ECHO, TIMEOUT_MS) != 0)
			return arg;
	return NULL;
}

static void several_threads_share_the_children(void **state)
{
	struct role_pool *p = new_pool(2);
	pthread_t threads[4];
	void *failed;

	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, call_often, p), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_true(counters(p).started <= 2);
	role_pool_free(p);
}

static void idle_children_can_be_ended(void **state)
{
	struct role_pool *p = new_pool(2);

	assert_int_equal(call(p, ECHO, TIMEOUT_MS), 0);
	role_pool_stop_idle(p);
	assert_int_equal(role_pool_pid(p), 0);
	assert_int_equal(call(p, ECHO, TIMEOUT_MS), 0);
	assert_int_equal(counters(p).deaths, 0);
	role_pool_free(p);
}

static void children_are_confined(void **state)
{
	struct role_pool *p = new_pool(1);
	char text[256], path[64], line[256];
	bool found = false;
	FILE *f;

	role_pool_confinement(p, text, sizeof(text));
	assert_non_null(strstr(text, "seccomp"));
	assert_non_null(strstr(text, "no capabilities"));
	snprintf(path, sizeof(path), "/proc/%d/status", (int)role_pool_pid(p));
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		found |= !strcmp(line, "CapEff:\t0000000000000000\n");
	fclose(f);
	assert_true(found);
	role_pool_free(p);
}

int test_pool(void);
int test_pool(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_request_is_answered),
		TEST(a_descriptor_reaches_the_job),
		TEST(a_child_that_hangs_is_replaced),
		TEST(an_urgent_caller_leaves_a_child_that_others_keep_from_the_cpus),
		TEST(late_jobs_that_fail_are_ended_by_the_next_request),
		TEST(a_child_that_computes_too_much_is_replaced),
		TEST(a_child_that_is_kept_from_the_cpus_is_waited_for),
		TEST(a_child_that_sleeps_is_replaced),
		TEST(garbage_and_crashes_cost_one_request),
		TEST(parts_arrive_in_order),
		TEST(a_question_is_answered_with_a_descriptor),
		TEST(a_memory_file_is_sealed),
		TEST(an_unsealed_memory_file_is_refused),
		TEST(children_killed_ten_times_come_back),
		TEST(starting_is_tried_for_ever_but_backs_off),
		TEST(a_payer_of_a_failure_is_refused_and_others_are_not),
		TEST(an_owner_of_children_that_hang_is_refused_and_others_are_not),
		TEST(an_exchange_need_not_be_waited_for),
		TEST(several_threads_share_the_children),
		TEST(idle_children_can_be_ended),
		TEST(children_are_confined),
	};

	return TEST_RUN("pool", tests, NULL, NULL);
}
