/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stalls MS KIND [ARG...]: keeps whoever examines it waiting or busy, for MS of CPU time:
 *
 *   fault          has a function whose page and stack page only userfaultfd can provide, and never
 *                  does; started by root, it becomes user 64001 (UFFD)
 *   herd N         has N threads that wait, each with a name of its own
 *   memfd          starts copies of itself from sealed memory files, one after the other
 *   patches N      has N small mappings of code, and replaces one of them all the time
 *   rewrite        writes its perf map again and again, shorter and longer, while its code runs
 *   traced         has children that run, and that it stops and continues as their tracer
 *   filtered       may call nothing but read, write and exit, and nobody may trace it
 *   swap LINK A B  makes the symbolic link LINK lead to A and to B in turn
 */
#include <fcntl.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

enum { ROUNDS = 100000, PAGE = 4096, HOSTILE = 64001, TRACED = 4, CHILD_MS = 20, STACK = 16384 };

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

static int fail(const char *what)
{
	perror(what);
	exit(77);
}

/* ---- pages that nobody provides ---------------------------------------------------------------
 */

static char *missing_page(int prot)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register area = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	char *page = mmap(NULL, PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	area.range.start = (uint64_t)page;
	area.range.len = PAGE;
	if (fd < 0 || page == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) < 0 ||
	    ioctl(fd, UFFDIO_REGISTER, &area) < 0)
		fail("userfaultfd");
	return page;
}

/* A thread waits in the page permanently, with the lock of the address space as the kernel has it.
 */
static void *run_page(void *page)
{
	void (*fn)(void);

	*(void **)&fn = page;
	fn();
	return page;
}

/* A million rounds with the stack pointer in the page, which the loop does not touch. */
static void spin_on(const char *page)
{
	__asm__ volatile("mov %%rsp,%%r12; mov %0,%%rsp; mov $1000000,%%ecx; 1: dec %%ecx; "
			 "jnz 1b; mov %%r12,%%rsp"
			 :
			 : "r"(page)
			 : "rcx", "r12", "memory");
}

static void fault(void)
{
	char *code = missing_page(PROT_READ | PROT_EXEC),
	     *stack = missing_page(PROT_READ | PROT_WRITE);
	pthread_t thread;

	if (setresgid(HOSTILE, HOSTILE, HOSTILE) < 0 || setresuid(HOSTILE, HOSTILE, HOSTILE) < 0)
		fail("setresuid");
	pthread_create(&thread, NULL, run_page, code);
	while (busy(budget_ms))
		spin_on(stack + PAGE / 2);
	_exit(0);
}

/* ---- crowds ------------------------------------------------------------------------------------
 */

static void *wait_with_name(void *name)
{
	prctl(PR_SET_NAME, name);
	pause();
	return name;
}

static void herd(void)
{
	long n = strtol(args[3], NULL, 10), started = 0;
	char(*names)[16] = calloc((size_t)n, sizeof(*names));
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (; started < n; started++) {
		snprintf(names[started], sizeof(*names), "herd-%u",
			 (unsigned int)started % 1000000);
		if (pthread_create(&thread, &attr, wait_with_name, names[started]) != 0)
			break;
	}
	printf("%ld threads\n", started);
	fflush(stdout);
	budget_ms += clock() / (CLOCKS_PER_SEC / 1000);
	work();
	_exit(0);
}

static int sealed_copy(int i)
{
	char name[32], bytes[65536];
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to;
	ssize_t n;

	snprintf(name, sizeof(name), "sealed-%d", i);
	to = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		if (write(to, bytes, (size_t)n) != n)
			fail("memfd");
	/* each is another file for those who compare contents */
	if (write(to, &i, sizeof(i)) != sizeof(i) ||
	    fcntl(to, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		fail("memfd");
	close(from);
	return to;
}

static void memfd(void)
{
	struct timespec begun, now;
	int i = 0;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	do {
		int fd = sealed_copy(i++);
		pid_t pid = fork();

		if (pid == 0) {
			char *argv[] = { "sealed", "10", "work", NULL };

			fexecve(fd, argv, (char *[]){ NULL });
			_exit(1);
		}
		waitpid(pid, NULL, 0);
		close(fd);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begun.tv_sec) * 1000 < budget_ms);
	printf("%d files\n", i);
}

/* ---- generated code
 * ------------------------------------------------------------------------------ */

/* mov $200000,%ecx; 1: dec %ecx; jnz 1b; ret */
static const uint8_t loop_code[] = { 0xb9, 0x40, 0x0d, 0x03, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0xc3 };

static void *code_at(void *at, int flags)
{
	void *p =
		mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (p == MAP_FAILED)
		fail("mmap");
	memcpy(p, loop_code, sizeof(loop_code));
	mprotect(p, PAGE, PROT_READ | PROT_EXEC);
	return p;
}

static void call_code(void *p)
{
	void (*fn)(void);

	*(void **)&fn = p;
	fn();
}

/* Pages between them are not mapped, so that the kernel keeps each apart. */
static void patches(void)
{
	size_t n = strtoul(args[3], NULL, 10);
	char *area = mmap(NULL, 2 * n * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		fail("mmap");
	munmap(area, 2 * n * PAGE);
	for (size_t i = 0; i < n; i++)
		code_at(area + 2 * i * PAGE, MAP_FIXED);
	budget_ms += clock() / (CLOCKS_PER_SEC / 1000);
	for (size_t i = 0; busy(budget_ms); i = (i * 7 + 1) % n) {
		munmap(area + 2 * i * PAGE, PAGE);
		call_code(code_at(area + 2 * i * PAGE, MAP_FIXED));
	}
}

static void write_map(const char *path, const void *code, unsigned int i)
{
	FILE *f = fopen(path, "w");

	if (!f)
		fail(path);
	for (unsigned int k = 0; k < i * 97 % 5000; k++)
		fprintf(f, "%lx 40 other_%u_%u\n", 0x1000ul + k * 64, i, k);
	fprintf(f, "%lx %x rewritten\n", (unsigned long)code, PAGE);
	fclose(f);
	if (i % 3 == 0 && truncate(path, (off_t)(i * 31 % 4096)) < 0)
		fail(path);
}

static void rewrite(void)
{
	void *code = code_at(NULL, 0);
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	for (unsigned int i = 0; busy(budget_ms); i++) {
		write_map(path, code, i);
		for (int k = 0; k < 10; k++)
			call_code(code);
	}
	unlink(path);
}

/* ---- processes that are stopped or restricted
 * ---------------------------------------------------- */

static pid_t start_traced(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			sink += hot(sink);
	}
	if (pid < 0 || ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
		fail("ptrace");
	return pid;
}

static void traced(void)
{
	pid_t pids[TRACED];

	for (int i = 0; i < TRACED; i++)
		pids[i] = start_traced();
	for (int i = 0; busy(budget_ms); i = (i + 1) % TRACED) {
		ptrace(PTRACE_INTERRUPT, pids[i], NULL, NULL);
		waitpid(pids[i], NULL, 0);
		for (int k = 0; k < 10; k++)
			sink += hot(sink);
		/* the last one remains stopped */
		if (i < TRACED - 1)
			ptrace(PTRACE_CONT, pids[i], NULL, NULL);
		else
			break;
	}
	work();
	for (int i = 0; i < TRACED; i++)
		kill(pids[i], SIGKILL);
}

static void filtered(void)
{
	prctl(PR_SET_DUMPABLE, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) < 0)
		fail("seccomp");
	/* the CPU time is a system call */
	for (long i = 0; i < budget_ms * 10; i++)
		sink += hot(sink);
	syscall(SYS_exit, 0);
}

static void swap(void)
{
	char next[300];

	snprintf(next, sizeof(next), "%s.next", args[3]);
	for (unsigned int i = 0; busy(budget_ms); i++) {
		unlink(next);
		if (symlink(args[4 + i % 2], next) < 0 || rename(next, args[3]) < 0)
			fail(args[3]);
		if (i % 16 == 0)
			sink += hot(sink);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
	int n_args;
} kinds[] = {
	{ "work", work, 3 },     { "fault", fault, 3 },       { "herd", herd, 4 },
	{ "memfd", memfd, 3 },   { "patches", patches, 4 },   { "rewrite", rewrite, 3 },
	{ "traced", traced, 3 }, { "filtered", filtered, 3 }, { "swap", swap, 6 },
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
