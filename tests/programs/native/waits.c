/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits N FILE: a thread for each way to wait, N times. Each prints "NAME OFF WALL": the
 * nanoseconds in its function without a CPU (wall-clock time less CPU time), and those of the whole
 * thread. FILE is written to, and a slow disk is mounted briefly at FILE.slow. With N 0 it sleeps
 * until standard input ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slow_file.h"
#include "work.h"

enum { PAUSE_US = 8000, PAGE = 4096, BLOCK = 1 << 16 };

static long turns;
static const char *file;

/* ---- the ways to wait -------------------------------------------------------- */

CALLED static int wait_sleep(void)
{
	return usleep(PAUSE_US) + 1;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t turn;

CALLED static int wait_lock(void)
{
	pthread_mutex_lock(&lock);
	return pthread_mutex_unlock(&lock) + 1;
}

static void *holder(void *arg)
{
	for (long i = 0; i < turns; i++) {
		pthread_mutex_lock(&lock);
		pthread_barrier_wait(&turn);
		usleep(PAUSE_US);
		pthread_mutex_unlock(&lock);
		pthread_barrier_wait(&turn);
	}
	return arg;
}

static int ends[2];

CALLED static int wait_pipe(void)
{
	char c = 0;

	return read(ends[0], &c, 1) == 1;
}

static void *writer(void *arg)
{
	for (long i = 0; i < turns; i++) {
		usleep(PAUSE_US);
		if (write(ends[1], "x", 1) != 1)
			abort();
	}
	return arg;
}

static int faults = -1;
static volatile char *pages;

CALLED static int wait_fault(long i)
{
	return pages[i * PAGE] + 1;
}

static void *pager(void *arg)
{
	static char zeros[PAGE] __attribute__((aligned(PAGE)));
	struct uffd_msg m;

	for (long i = 0; i < turns && read(faults, &m, sizeof(m)) == sizeof(m); i++) {
		struct uffdio_copy copy = { .dst = m.arg.pagefault.address & ~(PAGE - 1ULL),
					    .src = (uintptr_t)zeros,
					    .len = PAGE };

		usleep(PAUSE_US);
		ioctl(faults, UFFDIO_COPY, &copy);
	}
	return arg;
}

static int written = -1;

CALLED static int wait_sync(void)
{
	static char block[BLOCK];

	return write(written, block, sizeof(block)) == BLOCK && fsync(written) == 0;
}

static int disk = -1;
static volatile char *mapped;

CALLED static int wait_disk(long i)
{
	char c;

	return pread(disk, &c, 1, i * BLOCK) == 1;
}

CALLED static int wait_page(long i)
{
	return mapped[(turns + i) * BLOCK] + 1;
}

static int child_sleeps(void *arg)
{
	return usleep(PAUSE_US) + !!arg;
}

/* Like vfork(): the parent is not woken until the child ends. */
CALLED static int wait_child(pid_t *out)
{
	static char stack[1 << 14] __attribute__((aligned(16)));

	*out = clone(child_sleeps, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	return *out > 0;
}

static int bury(pid_t child)
{
	return waitpid(child, NULL, 0) == child;
}

/* ---- one thread for each way --------------------------------------------------- */

static void say(const char *name, int64_t off, int64_t began)
{
	static pthread_mutex_t out = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&out);
	printf("%s %lld %lld\n", name, (long long)off, (long long)(ns_of(CLOCK_MONOTONIC) - began));
	fflush(stdout);
	pthread_mutex_unlock(&out);
}

#define THREAD(name, before, call, after)                                                          \
	static void *name##_thread(void *arg)                                                      \
	{                                                                                          \
		int64_t began = ns_of(CLOCK_MONOTONIC), off = 0;                                   \
                                                                                                   \
		pthread_setname_np(pthread_self(), #name);                                         \
		for (long i = 0; i < turns; i++) {                                                 \
			int64_t at;                                                                \
                                                                                                   \
			before;                                                                    \
			at = off_ns();                                                             \
			if (!call)                                                                 \
				abort();                                                           \
			off += off_ns() - at;                                                      \
			after;                                                                     \
		}                                                                                  \
		say(#name, off, began);                                                            \
		return arg;                                                                        \
	}

THREAD(wait_sleep, (void)0, wait_sleep(), (void)0)
THREAD(wait_lock, pthread_barrier_wait(&turn), wait_lock(), pthread_barrier_wait(&turn))
THREAD(wait_pipe, (void)0, wait_pipe(), (void)0)
THREAD(wait_fault, (void)0, wait_fault(i), (void)0)
THREAD(wait_sync, (void)0, wait_sync(), (void)0)
THREAD(wait_disk, (void)0, wait_disk(i), (void)0)
THREAD(wait_page, (void)0, wait_page(i), (void)0)
THREAD(wait_child, pid_t child, wait_child(&child), bury(child))

static pthread_t threads[16];
static size_t n_threads;

static void start(void *(*run)(void *))
{
	if (pthread_create(&threads[n_threads++], NULL, run, NULL))
		abort();
}

/* Waits that this kernel does not allow are omitted from the output. */
static void start_faults(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api) < 0)
		return;
	pages = mmap(NULL, (size_t)turns * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.start = (uintptr_t)pages;
	reg.range.len = (size_t)turns * PAGE;
	if (ioctl(faults, UFFDIO_REGISTER, &reg) < 0)
		return;
	start(pager);
	start(wait_fault_thread);
}

static void start_disk(const char *dir)
{
	static struct slow_file slow = { .pause_us = PAUSE_US };

	slow.size = 2ULL * BLOCK * (size_t)turns;
	disk = slow_file_open(&slow, dir, 2);
	if (disk < 0)
		return;
	mapped = mmap(NULL, slow.size, PROT_READ, MAP_SHARED, disk, 0);
	if (mapped == MAP_FAILED)
		abort();
	start(wait_disk_thread);
	start(wait_page_thread);
}

/* main's frame separates the others from the outermost frames of every stack. */
CALLED static int wait_input(void)
{
	char c;

	return (int)read(STDIN_FILENO, &c, 1) + 1;
}

int main(int argc, char **argv)
{
	char slow[4096];

	turns = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	file = argc > 2 ? argv[2] : NULL;
	if (!turns)
		return !wait_input();
	pthread_barrier_init(&turn, NULL, 2);
	if (pipe(ends) < 0)
		return 1;
	start(holder);
	start(writer);
	start(wait_sleep_thread);
	start(wait_lock_thread);
	start(wait_pipe_thread);
	start_faults();
	start(wait_child_thread);
	if (file) {
		written = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		snprintf(slow, sizeof(slow), "%s.slow", file);
		start_disk(slow);
	}
	if (written >= 0)
		start(wait_sync_thread);
	for (size_t i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
