/* SPDX-License-Identifier: Apache-2.0 */
/*
 * abuses MS KIND [ARG...]: uses rare but permitted features of the kernel against a profiler, for
 * MS of CPU time:
 *
 *   exec-thread          executes this program again from a thread that is not the first
 *   vfork                starts a program all the time with vfork()
 *   sleepers N           has N threads that wait, and one that works
 *   layout               claims that its code, data, arguments and environment are elsewhere
 *   anon-name            has 200 executable areas whose names it changes all the time
 *   memfd                is executed from a memory file with control characters in its name
 *   churn                maps, calls and unmaps generated code all the time
 *   growing              appends lines to its perf map as fast as it can
 *   truncated PATH       makes PATH shorter and longer while it runs code in it
 */

#include <fcntl.h>
#include <linux/prctl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

enum { ROUNDS = 100000, PAGE = 4096, AREAS = 200, STACK = 16384 };

static const unsigned char loop[] = { 0x48, 0x89, 0xf9, 0x48, 0xff, 0xc9,
				      0x75, 0xfb, 0x48, 0x89, 0xf8, 0xc3 };
static volatile uint64_t sink;
static long budget_ms;
static char **args;

extern char **environ;

CALLED static uint64_t hot(uint64_t n)
{
	return spin(n, ROUNDS);
}

static void work(void)
{
	while (busy(budget_ms))
		sink += hot(sink);
}

static char *map_code(void)
{
	char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	memcpy(p, loop, sizeof(loop));
	return p;
}

static uint64_t call(const char *code, uint64_t n)
{
	uint64_t (*f)(uint64_t);

	memcpy(&f, &code, sizeof(f));
	return f(n);
}

static void *execute_again(void *unused)
{
	execve(args[0], args, environ);
	return unused;
}

/* The CPU time continues after the exec. */
static void exec_thread(void)
{
	for (int i = 0; i < 20 && busy(budget_ms); i++)
		sink += hot(sink);
	if (busy(budget_ms)) {
		pthread_t t;

		pthread_create(&t, NULL, execute_again, NULL);
		pthread_join(t, NULL);
	}
}

static void start_often(void)
{
	char *const argv[] = { "true", NULL };
	int status;

	while (busy(budget_ms)) {
		pid_t pid = vfork();

		if (pid == 0) {
			execve("/bin/true", argv, environ);
			_exit(1);
		}
		waitpid(pid, &status, 0);
	}
}

static void *wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void sleepers(void)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (int i = 0; i < atoi(args[3]); i++)
		if (pthread_create(&t, &attr, wait_for_ever, NULL))
			break;
	work();
	_exit(0);
}

/* The pages of this program are valid addresses of everything. */
static void layout(void)
{
	uint64_t here = (uint64_t)map_code();
	struct prctl_mm_map m = {
		.start_code = here,
		.end_code = here + 1,
		.start_data = here,
		.end_data = here + 1,
		.start_brk = (uint64_t)sbrk(0),
		.brk = (uint64_t)sbrk(0),
		.start_stack = here,
		.arg_start = here,
		.arg_end = here + PAGE,
		.env_start = here,
		.env_end = here + PAGE,
		.exe_fd = (__u32)-1,
	};

	/* neither as a name nor as a variable of the environment */
	memset((void *)here, 'x', PAGE);
	memcpy((void *)here, "OTEL_SERVICE_NAME=\033[2J\n\xff\xfe", 25);
	(void)prctl(PR_SET_MM, PR_SET_MM_MAP, &m, sizeof(m), 0);
	work();
}

static void anon_name(void)
{
	char *areas[AREAS], name[64];

	for (int i = 0; i < AREAS; i++)
		areas[i] = map_code();
	for (unsigned int n = 0; busy(budget_ms); n++) {
		char *area = areas[n % AREAS];

		snprintf(name, sizeof(name), "%s", n % 2 ? "/usr/lib/libc.so.6" : "OTEL_CTX");
		(void)prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, area, PAGE, name);
		sink += call(area, ROUNDS);
	}
}

static void from_memory(void)
{
	static const char name[] = "mem\033[2J\r\n\xff\xfe;x";
	char *again[] = { args[0], args[1], "work", NULL };
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = memfd_create(name, 0);
	char piece[PAGE];
	ssize_t n;

	while ((n = read(from, piece, sizeof(piece))) > 0)
		if (write(to, piece, (size_t)n) != n)
			exit(1);
	fexecve(to, again, environ);
	exit(1);
}

static void churn(void)
{
	while (busy(budget_ms)) {
		char *code = map_code();

		sink += call(code, 1000);
		munmap(code, PAGE);
	}
}

static void growing(void)
{
	char path[64], line[128];
	char *code = map_code();
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	f = fopen(path, "w");
	for (unsigned int i = 0; f && busy(budget_ms); i++) {
		snprintf(line, sizeof(line), "%lx 1000 name\033[2J\xff_%u\n", (unsigned long)code,
			 i);
		fputs(line, f);
		if (i % 64 == 0)
			sink += call(code, ROUNDS);
		/* 64 MiB at most, again and again */
		if (i % (1 << 20) == 0 && ftruncate(fileno(f), 0) == 0)
			rewind(f);
	}
	unlink(path);
}

static void on_fault(int sig)
{
	(void)sig;
	_exit(0);
}

static void *truncate_often(void *path)
{
	for (;;) {
		int fd = open(path, O_RDWR | O_CLOEXEC);

		if (ftruncate(fd, 2L * PAGE) == 0 && ftruncate(fd, 64L * PAGE) < 0)
			break;
		close(fd);
	}
	return NULL;
}

static void truncated(void)
{
	int fd = open(args[3], O_RDONLY | O_CLOEXEC);
	char *code = mmap(NULL, 64 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	pthread_t t;

	signal(SIGBUS, on_fault);
	if (code == MAP_FAILED || pthread_create(&t, NULL, truncate_often, args[3]))
		exit(1);
	while (busy(budget_ms))
		sink += call(code + PAGE, ROUNDS);
	_exit(0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {
		{ "exec-thread", exec_thread },
		{ "vfork", start_often },
		{ "sleepers", sleepers },
		{ "layout", layout },
		{ "anon-name", anon_name },
		{ "memfd", from_memory },
		{ "churn", churn },
		{ "growing", growing },
		{ "truncated", truncated },
		{ "work", work },
	};

	budget_ms = argc < 3 ? 0 : atol(argv[1]);
	args = argv;
	for (size_t i = 0; argc >= 3 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(argv[2], kinds[i].name) == 0)
			kinds[i].run();
	return 0;
}
