/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sigbus.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/test.h"

enum { PAGES = 8 };

struct mapping {
	const volatile uint8_t *data;
	size_t len;
	int fd;
	unsigned int sum;
	bool ran_to_the_end;
};

static void map_some_file(struct mapping *m)
{
	*m = (struct mapping){ .len = (size_t)PAGES * (size_t)sysconf(_SC_PAGESIZE) };
	m->fd = memfd_create("sigbus", MFD_CLOEXEC);
	assert_true(m->fd >= 0);
	assert_int_equal(ftruncate(m->fd, (off_t)m->len), 0);
	for (size_t i = 0; i < PAGES; i++)
		assert_int_equal(pwrite(m->fd, "\1", 1, (off_t)(m->len / PAGES * i)), 1);
	m->data = mmap(NULL, m->len, PROT_READ, MAP_PRIVATE, m->fd, 0);
	assert_true(m->data != MAP_FAILED);
}

static void unmap(struct mapping *m)
{
	munmap((void *)m->data, m->len);
	close(m->fd);
}

static int add_up(void *ctx)
{
	struct mapping *m = ctx;

	m->sum = 0;
	for (size_t i = 0; i < m->len; i++)
		m->sum += m->data[i];
	m->ran_to_the_end = true;
	return 7;
}

static void a_good_file_returns_the_functions_own_result(void **state)
{
	struct mapping m;

	map_some_file(&m);
	assert_int_equal(sigbus_run(add_up, &m), 7);
	assert_int_equal(m.sum, PAGES);
	unmap(&m);
}

static void a_file_truncated_beneath_the_mapping_returns_efault(void **state)
{
	struct mapping m;

	map_some_file(&m);
	assert_int_equal(ftruncate(m.fd, (off_t)(m.len / PAGES * 3)), 0);
	assert_int_equal(sigbus_run(add_up, &m), -EFAULT);
	assert_true(m.ran_to_the_end);
	assert_int_equal(m.sum, 3);
	unmap(&m);
}

static int run_nested(void *ctx)
{
	return sigbus_run(add_up, ctx) == -EFAULT ? 1 : 0;
}

static void the_innermost_of_nested_runs_reports(void **state)
{
	struct mapping m;

	map_some_file(&m);
	assert_int_equal(ftruncate(m.fd, 0), 0);
	assert_int_equal(sigbus_run(run_nested, &m), 1);
	unmap(&m);
}

static void *run_in_thread(void *ctx)
{
	return (void *)(intptr_t)sigbus_run(add_up, ctx);
}

static void every_thread_has_its_own_guard(void **state)
{
	struct mapping bad, good;
	pthread_t threads[2];
	void *ret[2];

	map_some_file(&bad);
	map_some_file(&good);
	assert_int_equal(ftruncate(bad.fd, 0), 0);
	assert_int_equal(pthread_create(&threads[0], NULL, run_in_thread, &bad), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, run_in_thread, &good), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(threads[i], &ret[i]), 0);
	assert_int_equal((intptr_t)ret[0], -EFAULT);
	assert_int_equal((intptr_t)ret[1], 7);
	unmap(&bad);
	unmap(&good);
}

/*
 * Returns the signal that ends a child that installs the guard and runs @act on a truncated file.
 */
static int child_status(void (*act)(struct mapping *m))
{
	struct mapping m;
	int status;
	pid_t pid;

	map_some_file(&m);
	/* The test framework's handler would continue in the child. */
	signal(SIGBUS, SIG_DFL);
	assert_int_equal(sigbus_run(add_up, &m), 7);
	assert_int_equal(ftruncate(m.fd, 0), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		act(&m);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	unmap(&m);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void read_unguarded(struct mapping *m)
{
	add_up(m);
}

static void send_to_oneself(struct mapping *m)
{
	raise(SIGBUS);
}

static void other_bus_errors_are_not_swallowed(void **state)
{
	assert_int_equal(child_status(read_unguarded), SIGBUS);
	assert_int_equal(child_status(send_to_oneself), SIGBUS);
}

/* All mappings of an owner are lost, those of another one are not, and the memory can be used. */
static void a_watched_mapping_is_lost_with_its_owner(void **state)
{
	static const char owners[3];
	struct mapping bad, good;
	int first, second, shared, other;

	map_some_file(&bad);
	map_some_file(&good);
	first = sigbus_watch(&owners[0], good.data, good.len);
	second = sigbus_watch(&owners[0], bad.data, bad.len);
	shared = sigbus_watch(&owners[1], bad.data, bad.len);
	other = sigbus_watch(&owners[2], good.data, good.len);
	assert_true(first >= 0 && second >= 0 && shared >= 0 && other >= 0);
	assert_false(sigbus_is_lost(first) || sigbus_is_lost(second));
	assert_int_equal(ftruncate(bad.fd, 0), 0);
	assert_int_equal(add_up(&bad), 7);
	assert_int_equal(bad.sum, 0);
	assert_true(sigbus_is_lost(first) && sigbus_is_lost(second) && sigbus_is_lost(shared));
	assert_false(sigbus_is_lost(other));
	for (int i = 0; i < 3; i++)
		sigbus_unwatch(&owners[i]);
	assert_false(sigbus_is_lost(sigbus_watch(&owners[0], good.data, good.len)));
	sigbus_unwatch(&owners[0]);
	unmap(&bad);
	unmap(&good);
}

TEST_GROUP(test_sigbus, TEST(a_good_file_returns_the_functions_own_result),
	   TEST(a_file_truncated_beneath_the_mapping_returns_efault),
	   TEST(the_innermost_of_nested_runs_reports), TEST(every_thread_has_its_own_guard),
	   TEST(other_bus_errors_are_not_swallowed), TEST(a_watched_mapping_is_lost_with_its_owner))
