/* SPDX-License-Identifier: Apache-2.0 */
#include "process/jit_source.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "reader/reader.h"
#include "roles/pool.h"
#include "tests/test.h"

enum { MEMORY = 24 << 20, LIMIT_S = 20 };

struct fixture {
	struct role_pool *pool;
	struct jit_source *source;
	int fd; /* of the same file as the source's */
};

static int setup(void **state)
{
	const struct role_pool_opts opts = { .max_children = 1,
					     .max_abandoned = 1,
					     .memory_bytes = MEMORY };
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	*state = f;
	f->fd = memfd_create("map", MFD_CLOEXEC);
	assert_true(f->fd >= 0);
	assert_int_equal(jit_source_new(&f->source, dup(f->fd), JIT_PERF_MAP), 0);
	return role_pool_new(&f->pool, &reader_role, &opts, NULL);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	jit_source_free(f->source);
	role_pool_free(f->pool);
	close(f->fd);
	free(f);
	return 0;
}

static void append(struct fixture *f, const char *text)
{
	assert_int_equal(write(f->fd, text, strlen(text)), strlen(text));
}

/* Expects the function @expected at @addr, or none. */
static void check(struct fixture *f, uint64_t addr, const char *expected)
{
	struct jit_source_function fn = { 0 };

	assert_int_equal(jit_source_find(f->source, addr, &fn), expected ? 0 : -ENOENT);
	if (expected)
		assert_string_equal(fn.name, expected);
}

static struct jit_time in_time(uint64_t ns)
{
	return (struct jit_time){ .left_ns = ns,
				  .end_ns = clock_monotonic_ns() + ns * ROLE_PATIENCE };
}

static int look_up(struct fixture *f, const uint64_t *addrs, size_t n)
{
	uint64_t most_ns = LIMIT_S * (uint64_t)CLOCK_SECOND_NS;
	struct jit_time time = in_time(most_ns);
	int r = jit_source_look_up(f->source, f->pool, addrs, n, &time);

	/* what was read is charged */
	assert_true(r < 0 ? time.left_ns <= most_ns : time.left_ns < most_ns);
	return r;
}

static void finds_functions_as_the_file_grows(void **state)
{
	static const uint64_t addrs[] = { 0x1000, 0x2000, 0x3000 };
	struct fixture *f = *state;

	append(f, "1000 10 a\n3000 10 c\n");
	assert_int_equal(look_up(f, addrs, 2), 0);
	check(f, 0x1000, "a");
	check(f, 0x2000, NULL);
	check(f, 0x3000, NULL);
	append(f, "2000 10 b\n1000 10 aa\n");
	/* known addresses are updated, also those that are not needed, and new ones are added */
	assert_int_equal(look_up(f, addrs + 1, 2), 0);
	check(f, 0x1000, "aa");
	check(f, 0x2000, "b");
	check(f, 0x3000, "c");
	assert_int_equal(jit_source_unread(f->source), 0);
	assert_true(jit_source_bytes(f->source) > 0);
}

static void reads_a_file_that_shrank_again(void **state)
{
	static const uint64_t addrs[] = { 5, 0x1000 };
	struct fixture *f = *state;

	append(f, "1000 10 a\n2000 10 b\n");
	assert_int_equal(look_up(f, addrs, 2), 0);
	check(f, 0x1000, "a");
	assert_int_equal(ftruncate(f->fd, 0), 0);
	assert_int_equal(lseek(f->fd, 0, SEEK_SET), 0);
	append(f, "5 1 c\n");
	assert_int_equal(look_up(f, addrs, 2), 0);
	check(f, 0x1000, NULL);
	check(f, 5, "c");
}

static void knows_as_many_addresses_as_are_needed(void **state)
{
	enum { N = 10000 };
	struct fixture *f = *state;
	uint64_t addrs[N];

	append(f, "1000 100000 a\n");
	for (uint64_t i = 0; i < N; i++)
		addrs[i] = 0x1000 + i;
	assert_int_equal(look_up(f, addrs, N), 0);
	check(f, addrs[0], "a");
	check(f, addrs[N - 1], "a");
	assert_int_equal(look_up(f, addrs, 1), 0);
	check(f, addrs[0], "a");
	check(f, addrs[1], NULL); /* was forgotten */
}

static void survives_readers_that_are_killed(void **state)
{
	static const uint64_t addrs[] = { 0x1000 };
	struct fixture *f = *state;

	append(f, "1000 10 a\n");
	for (int i = 0; i < 10; i++) {
		append(f, i % 2 ? "1000 10 a\n" : "1000 10 b\n");
		assert_int_equal(look_up(f, addrs, 1), 0);
		check(f, 0x1000, i % 2 ? "a" : "b");
		assert_int_equal(kill(role_pool_pid(f->pool), SIGKILL), 0);
	}
}

static void leaves_a_file_alone_after_a_failure(void **state)
{
	static const uint64_t addrs[] = { 0x1000 };
	struct jit_source_function fn;
	struct fixture *f = *state;
	struct jit_time time = in_time(0);

	append(f, "1000 10 a\n");
	assert_int_equal(jit_source_look_up(f->source, f->pool, addrs, 1, &time), -ETIMEDOUT);
	assert_int_equal(jit_source_find(f->source, 0x1000, &fn), -ETIMEDOUT);
	assert_int_equal(look_up(f, addrs, 1), -ETIME);
	while (look_up(f, addrs, 1) == -ETIME)
		usleep(10000);
	check(f, 0x1000, "a");
}

/* A reader that hangs is waited for until the batch's time is over, or until nobody needs it. */
static void waits_for_readers_that_hang_no_longer_than_it_may(void **state)
{
	static const uint64_t addrs[] = { 0x1000 };
	struct fixture *f = *state;
	struct jit_time time = in_time(LIMIT_S * (uint64_t)CLOCK_SECOND_NS);
	_Atomic uint64_t until_ns = 0;
	struct role_counters c;

	append(f, "1000 10 a\n");
	assert_int_equal(look_up(f, addrs, 1), 0);
	append(f, "1000 10 b\n");
	/* a patient request within the end of the batch has no millisecond */
	time.end_ns = clock_monotonic_ns() + ROLE_PATIENCE * CLOCK_MS_NS - 1;
	assert_int_equal(jit_source_look_up(f->source, f->pool, addrs, 1, &time), -ETIMEDOUT);
	while (look_up(f, addrs, 1) == -ETIME)
		usleep(10000);
	append(f, "1000 10 c\n");
	assert_int_equal(kill(role_pool_pid(f->pool), SIGSTOP), 0);
	time = in_time(LIMIT_S * (uint64_t)CLOCK_SECOND_NS);
	time.until_ns = &until_ns;
	atomic_store(&until_ns, clock_monotonic_ns() + 50 * CLOCK_MS_NS);
	assert_int_equal(jit_source_look_up(f->source, f->pool, addrs, 1, &time), -ETIMEDOUT);
	role_pool_counters(f->pool, &c);
	/* the reader was not killed for being slow */
	assert_int_equal(c.timeouts, 0);
}

#define SOURCE_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int test_jit_source(void);
int test_jit_source(void)
{
	const struct CMUnitTest tests[] = {
		SOURCE_TEST(finds_functions_as_the_file_grows),
		SOURCE_TEST(reads_a_file_that_shrank_again),
		SOURCE_TEST(knows_as_many_addresses_as_are_needed),
		SOURCE_TEST(survives_readers_that_are_killed),
		SOURCE_TEST(leaves_a_file_alone_after_a_failure),
		SOURCE_TEST(waits_for_readers_that_hang_no_longer_than_it_may),
	};

	return TEST_RUN("jit_source", tests, NULL, NULL);
}
