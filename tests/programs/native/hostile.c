/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostile MS KIND [ARG...]: behaves in a way that is hard for a profiler, for MS of CPU time:
 *
 *   names          has a name with control characters
 *   fp-cycle       has a frame pointer that points to itself
 *   sp-wild        has a stack pointer that points nowhere
 *   exit-main      has ended its main thread
 *   threads        starts threads and waits for them
 *   renames        changes its name all the time
 *   exec OTHER     becomes OTHER, which becomes this program again
 *   fork           starts processes that end at once
 *   remap FILE     maps and unmaps FILE, and calls the code in between
 *   crowd N        has N child processes that wait
 *   map-link PATH  has PATH as its perf map, as a second name, and code without a symbol
 *   map-symlink PATH, dump-link PATH: the same with a symbolic link, and with a jitdump
 *   lock PATH      holds the lock of its address space while it waits for PATH, whose server hangs
 *   sp-file PATH   has a stack pointer into PATH, whose server hangs, and never reads it
 *   replaced PATH  is no longer at the path that it was started from, where PATH is now
 *   own-lock PATH  from SIGUSR1 on, has its address space locked for writing until PATH is written
 *   flip PATH      starts programs with a deep stack, of which a page alternates between memory and
 * PATH
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

enum { ROUNDS = 100000, PAGE = 4096, LOCKERS = 4, SP_PAGES = 64 };

static volatile uint64_t sink;
static long budget_ms;
static char **args;

CALLED static uint64_t hot(uint64_t n)
{
	return spin(n, ROUNDS);
}

static void work(void)
{
	while (busy(budget_ms))
		sink += hot(sink);
}

static void names(void)
{
	prctl(PR_SET_NAME, "hos\033[2J\n\ttile");
	work();
}

/* The loop changes rbp or rsp for a million rounds; signals would be fatal for the second. */
static void fp_cycle(void)
{
	while (busy(budget_ms)) {
		uint64_t self[2] = { (uint64_t)self, 0 };

		__asm__ volatile("push %%rbp; mov %0,%%rbp; mov $1000000,%%ecx; 1: dec %%ecx; "
				 "jnz 1b; pop %%rbp"
				 :
				 : "r"(self)
				 : "rcx", "memory");
	}
}

/* A million rounds with another stack pointer. */
static void spin_with_sp(uint64_t sp)
{
	__asm__ volatile("mov %%rsp,%%r12; mov %0,%%rsp; mov $1000000,%%ecx; 1: dec %%ecx; "
			 "jnz 1b; mov %%r12,%%rsp"
			 :
			 : "r"(sp)
			 : "rcx", "r12", "memory");
}

static void sp_wild(void)
{
	static const uint64_t places[] = { 0, 0x1000, ~0xfULL, 1ULL << 47, 1ULL << 63 };

	for (unsigned int i = 0; busy(budget_ms); i++)
		spin_with_sp(places[i % 5]);
}

static void sp_file(void)
{
	int fd = open(args[3], O_RDONLY);
	char *file = mmap(NULL, PAGE * SP_PAGES, PROT_READ, MAP_PRIVATE, fd, 0);

	if (fd < 0 || file == MAP_FAILED)
		exit(1);
	for (unsigned int i = 0; busy(budget_ms); i++)
		spin_with_sp((uint64_t)file + (uint64_t)PAGE * (i % SP_PAGES));
}

static void *work_and_exit(void *arg)
{
	work();
	_exit(0);
	return arg;
}

static void exit_main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, work_and_exit, NULL);
	pthread_exit(NULL);
}

static void *work_briefly(void *arg)
{
	sink += hot(sink);
	return arg;
}

static void threads(void)
{
	while (busy(budget_ms)) {
		pthread_t t[8];
		int n = 0;

		while (n < 8 && pthread_create(&t[n], NULL, work_briefly, NULL) == 0)
			n++;
		while (n)
			pthread_join(t[--n], NULL);
	}
}

static void renames(void)
{
	char name[16];

	for (unsigned int i = 0; busy(budget_ms); i++) {
		snprintf(name, sizeof(name), "hostile-%u", i % 100000);
		prctl(PR_SET_NAME, name);
		sink += hot(sink);
	}
}

static void exec_other(void)
{
	char *argv[] = { args[3], args[1], args[2], args[0], NULL };

	sink += hot(sink);
	if (busy(budget_ms))
		execv(args[3], argv);
}

static void fork_children(void)
{
	while (busy(budget_ms)) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		sink += hot(sink);
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
}

static void remap(void)
{
	int fd = open(args[3], O_RDONLY | O_CLOEXEC);

	while (busy(budget_ms)) {
		uint64_t (*loop)(uint64_t);
		void *p = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		if (p == MAP_FAILED)
			exit(1);
		*(void **)&loop = p;
		sink += loop(10000);
		munmap(p, PAGE);
	}
}

/* The children end with their parent. */
static void crowd(void)
{
	long n = strtol(args[3], NULL, 10);

	for (long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("fork");
			exit(1);
		}
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pause();
			_exit(0);
		}
	}
	budget_ms += clock() / (CLOCKS_PER_SEC / 1000);
	work();
}

/* ---- files --------------------------------------------------------------------------------- */

/* Calls code that was generated, so that a profiler looks for its symbol. */
static void generated(void)
{
	/* push %rbp; mov %rsp,%rbp; mov $1000000,%ecx; 1: dec %ecx; jnz 1b; pop %rbp; ret */
	static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0xb9, 0x40, 0x42, 0x0f,
					0x00, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3 };
	void (*fn)(void);
	void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	memcpy(p, code, sizeof(code));
	*(void **)&fn = p;
	while (busy(budget_ms))
		fn();
}

static const char *own_path(const char *format)
{
	static char path[64];

	snprintf(path, sizeof(path), format, (int)getpid());
	unlink(path);
	return path;
}

static void map_link(void)
{
	const char *path = own_path("/tmp/perf-%d.map");

	if (link(args[3], path) < 0)
		exit(1);
	generated();
	unlink(path);
}

static void map_symlink(void)
{
	const char *path = own_path("/tmp/perf-%d.map");

	if (symlink(args[3], path) < 0)
		exit(1);
	generated();
	unlink(path);
}

/* The mapping by which a profiler finds the dump is that of a file, which then makes way. */
static void dump_link(void)
{
	const char *path = own_path("/tmp/jit-%d.dump");
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);

	if (fd < 0 || ftruncate(fd, PAGE) < 0 ||
	    mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
	    unlink(path) < 0 || link(args[3], path) < 0)
		exit(1);
	generated();
	unlink(path);
}

static void replaced(void)
{
	if (unlink(args[0]) < 0 || link(args[3], args[0]) < 0)
		exit(1);
	work();
}

/* A page fault holds the lock for reading; whoever maps then waits, and readers wait for that. */
static void *touch(void *page)
{
	return (void *)(uintptr_t) * (volatile char *)page;
}

static void *map_and_unmap(void *arg)
{
	for (;;)
		munmap(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE);
	return arg;
}

/* The budget ends the process: threads that wait for the file do not. */
static void lock(void)
{
	int fd = open(args[3], O_RDONLY);
	char *file = mmap(NULL, PAGE * LOCKERS, PROT_READ, MAP_PRIVATE, fd, 0);
	pthread_t thread;

	if (fd < 0 || file == MAP_FAILED)
		exit(1);
	for (size_t i = 0; i < LOCKERS; i++) {
		pthread_create(&thread, NULL, touch, file + i * PAGE);
		pthread_create(&thread, NULL, map_and_unmap, NULL);
	}
	work();
	_exit(0);
}

static volatile sig_atomic_t is_signalled;

static void on_signal(int sig)
{
	is_signalled = sig;
}

/* Writes the changed page back, for which it waits with the lock held. */
static void *map_over(void *page)
{
	return mmap(page, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static void own_lock(void)
{
	int fd = open(args[3], O_RDWR);
	char *file = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	pthread_t thread;

	if (fd < 0 || file == MAP_FAILED)
		exit(1);
	file[0] ^= 1;
	signal(SIGUSR1, on_signal);
	while (!is_signalled)
		sink += hot(sink);
	pthread_create(&thread, NULL, map_over, file);
	work();
	_exit(0);
}

/* A page in the middle of the stack, and the file that replaces it now and then. */
static struct {
	char *page, copy[PAGE];
	int fd;
} flipped;

static void *flip_page(void *arg)
{
	memcpy(flipped.copy, flipped.page, PAGE);
	for (;;) {
		mmap(flipped.page, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, flipped.fd, 0);
		mmap(flipped.page, PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		memcpy(flipped.page, flipped.copy, PAGE);
	}
	return arg;
}

/* Ends the process, because its callers' frames are lost. */
CALLED static uint64_t descend(int depth)
{
	enum { DEPTH = 3000, FLIPPED = 1000, CHILD_MS = 30 };
	pthread_t thread;
	uint64_t n;

	if (depth == FLIPPED)
		flipped.page = (char *)((uintptr_t)__builtin_frame_address(0) & -(uintptr_t)PAGE);
	if (depth < DEPTH) {
		n = descend(depth + 1);
		sink += n; /* no tail call, nor a loop */
		return n;
	}
	pthread_create(&thread, NULL, flip_page, NULL);
	for (clock_t end = clock() + CHILD_MS * (CLOCKS_PER_SEC / 1000); clock() < end;)
		sink += hot(sink);
	if (sink)
		_exit(0);
	return 0;
}

static void flip_child(void)
{
	flipped.fd = open(args[3], O_RDONLY);
	if (flipped.fd >= 0)
		sink += descend(0);
}

static void flip(void)
{
	char *argv[] = { args[0], args[1], "flip-child", args[3], NULL };
	struct timespec begun, now;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	do {
		pid_t pid = fork();

		if (pid == 0) {
			execv("/proc/self/exe", argv);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begun.tv_sec) * 1000 < budget_ms);
}

static const struct {
	const char *name;
	void (*run)(void);
	int n_args;
} kinds[] = {
	{ "names", names, 3 },
	{ "fp-cycle", fp_cycle, 3 },
	{ "sp-wild", sp_wild, 3 },
	{ "exit-main", exit_main, 3 },
	{ "threads", threads, 3 },
	{ "renames", renames, 3 },
	{ "exec", exec_other, 4 },
	{ "fork", fork_children, 3 },
	{ "remap", remap, 4 },
	{ "crowd", crowd, 4 },
	{ "map-link", map_link, 4 },
	{ "map-symlink", map_symlink, 4 },
	{ "dump-link", dump_link, 4 },
	{ "replaced", replaced, 4 },
	{ "lock", lock, 4 },
	{ "sp-file", sp_file, 4 },
	{ "own-lock", own_lock, 4 },
	{ "flip", flip, 4 },
	{ "flip-child", flip_child, 4 },
};

int main(int argc, char **argv)
{
	args = argv;
	budget_ms = busy_ms(argc, argv);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (argc > 2 && !strcmp(argv[2], kinds[i].name) && argc >= kinds[i].n_args) {
			kinds[i].run();
			return 0;
		}
	return 2;
}
