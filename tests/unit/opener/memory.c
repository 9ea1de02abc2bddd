/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of another process, read by an opener. Pages that hang need a file system that
 * does: tests/hostile/hangs.py.
 */
#include "proc/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opener/opener.h"
#include "roles/pool.h"
#include "tests/test.h"

enum { PAGE = 4096, PAGES = 40 };

/* A process with these pages, which it has inherited. */
struct target {
	char *anonymous, *file, *untouched, *gone;
	pid_t pid;
};

static char *map(int flags, int fd, size_t pages)
{
	char *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

static void begin(struct target *t)
{
	int fd = memfd_create("target", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, PAGE), 0);
	t->anonymous = map(MAP_PRIVATE | MAP_ANONYMOUS, -1, PAGES);
	t->file = map(MAP_SHARED, fd, 1);
	t->untouched = map(MAP_PRIVATE | MAP_ANONYMOUS, -1, 1);
	t->gone = map(MAP_PRIVATE | MAP_ANONYMOUS, -1, 1);
	close(fd);
	munmap(t->gone, PAGE);
	for (int i = 0; i < PAGES; i++)
		memset(t->anonymous + i * PAGE, 'a' + i % 26, PAGE);
	memset(t->file, 'f', PAGE);
	assert_int_equal(opener_start(NULL), 0);
	t->pid = fork();
	if (t->pid == 0)
		for (;;)
			pause();
}

static void end(struct target *t)
{
	proc_memory_set_reader(NULL, NULL);
	kill(t->pid, SIGKILL);
	waitpid(t->pid, NULL, 0);
	munmap(t->anonymous, PAGES * PAGE);
	munmap(t->file, PAGE);
	munmap(t->untouched, PAGE);
}

static uint64_t n_requests(void)
{
	struct role_counters c;

	opener_counters(&c);
	return c.requests;
}

static int read_at(const struct target *t, const char *at, char *dst, size_t len)
{
	return proc_memory_read((uint32_t)t->pid, (uint64_t)(uintptr_t)at, dst, len);
}

static void all_pages_are_read_by_an_opener(void **state)
{
	char got[2 * PAGE];
	struct target t;
	uint64_t before;

	begin(&t);
	before = n_requests();
	assert_int_equal(read_at(&t, t.anonymous + PAGE - 2, got, 4), 0);
	assert_memory_equal(got, "aabb", 4);
	assert_int_equal(read_at(&t, t.anonymous, got, sizeof(got)), 0);
	assert_memory_equal(got, t.anonymous, sizeof(got));
	assert_int_equal(read_at(&t, t.file, got, 8), 0);
	assert_memory_equal(got, "ffffffff", 8);
	assert_int_equal(read_at(&t, t.untouched, got, 8), 0);
	assert_int_equal(got[0], 0);
	assert_int_equal(n_requests(), before + 4);
	end(&t);
}

static void a_long_read_has_several_requests(void **state)
{
	static char got[PAGES * PAGE];
	struct target t;

	begin(&t);
	assert_int_equal(read_at(&t, t.anonymous, got, sizeof(got)), 0);
	assert_memory_equal(got, t.anonymous, sizeof(got));
	end(&t);
}

static void what_is_not_mapped_is_an_error(void **state)
{
	struct target t;
	char got[8];

	begin(&t);
	assert_int_equal(read_at(&t, t.gone, got, sizeof(got)), -EFAULT);
	assert_int_equal(read_at(&t, (char *)~0xffULL, got, sizeof(got)), -EFAULT);
	assert_int_equal(read_at(&t, (char *)~0x1ULL, got, sizeof(got)), -EFAULT);
	assert_int_equal(read_at(&t, NULL, got, sizeof(got)), -EFAULT);
	kill(t.pid, SIGKILL);
	waitpid(t.pid, NULL, 0);
	assert_int_equal(read_at(&t, t.anonymous, got, sizeof(got)), -ESRCH);
	t.pid = fork();
	if (t.pid == 0)
		for (;;)
			pause();
	end(&t);
}

TEST_GROUP(test_memory, TEST(all_pages_are_read_by_an_opener),
	   TEST(a_long_read_has_several_requests), TEST(what_is_not_mapped_is_an_error))
