/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tricks MS KIND: has stacks, threads and mappings that programs rarely have, for MS of CPU
 * time:
 *
 *   shared-memory   works in two processes that share their memory
 *   vfork-work      works in the child of a vfork()
 *   signal-stack    handles signals all the time, on a stack in a shared memory file
 *   punched-stack   has its stack in a memory file whose pages it removes all the time
 *   huge-stack      has its stack in huge pages
 *   deep            has 100,000 frames
 *   wild-stack      has stack pointers that point everywhere but to a stack
 *   wild-frames     has frame pointers that lead in circles, to the kernel, and to signal frames
 *   names           gives its thread another name all the time
 *   leader-gone     works in threads after the first one has ended, in code that is mapped later
 *   threads         starts and ends threads all the time
 *   moved           moves its code to another address all the time
 *   protected       makes its code executable and not executable all the time
 *   strict          may call nothing but read(), write() and exit()
 *   hidden          cannot be dumped nor traced
 *   stopped         has a child that it stops and continues all the time
 *   zombies         has 500 children that have ended, and starts more
 *   time-space      works in a time namespace whose clocks are years ahead
 *   root-space      works below another root, in namespaces of its own, whose directory is gone
 *   first-pid       is process 1 of a namespace, with a perf map under that number
 */

#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

enum {
	ROUNDS = 100000,
	PAGE = 4096,
	STACK = 1 << 20,
	HUGE_PAGE = 2 << 20,
	DEPTH = 100000,
	ZOMBIES = 500
};

/* mov %rdi,%rcx; 1: dec %rcx; jnz 1b; mov %rdi,%rax; ret */
static const unsigned char loop[] = { 0x48, 0x89, 0xf9, 0x48, 0xff, 0xc9,
				      0x75, 0xfb, 0x48, 0x89, 0xf8, 0xc3 };
/* The same, with the stack pointer in %rsi and the frame pointer in %rdx meanwhile. */
static const unsigned char wild[] = { 0x55, 0x49, 0x89, 0xe3, 0x48, 0x89, 0xf4, 0x48, 0x89,
				      0xd5, 0x48, 0x89, 0xf9, 0x48, 0xff, 0xc9, 0x75, 0xfb,
				      0x4c, 0x89, 0xdc, 0x5d, 0x48, 0x89, 0xf8, 0xc3 };
static volatile uint64_t sink;
static long budget_ms;

CALLED static uint64_t hot(uint64_t n)
{
	return spin(n, ROUNDS);
}

static void work(void)
{
	while (busy(budget_ms))
		sink += hot(sink);
}

static void *work_and_exit(void *unused)
{
	work();
	_exit(0);
	return unused;
}

static void *map(size_t len, int prot, int flags, int fd)
{
	void *p = mmap(NULL, len, prot, flags, fd, 0);

	if (p == MAP_FAILED)
		exit(1);
	return p;
}

static char *map_code(const unsigned char *code, size_t len)
{
	char *p = map(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	memcpy(p, code, len);
	return p;
}

static uint64_t call(const char *code, uint64_t n)
{
	uint64_t (*f)(uint64_t);

	memcpy(&f, &code, sizeof(f));
	return f(n);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static int in_shared_memory(void *unused)
{
	work();
	_exit(0);
}

static void shared_memory(void)
{
	char *stack = map(STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	pid_t pid = clone(in_shared_memory, stack + STACK, CLONE_VM | SIGCHLD, NULL);

	work();
	waitpid(pid, NULL, 0);
}

static void vfork_work(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		work();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void on_alarm(int sig)
{
	sink += hot((uint64_t)sig);
}

static void signal_stack(void)
{
	int fd = memfd_create("stack", 0);
	stack_t st = { .ss_size = STACK };
	struct sigaction act = { .sa_handler = on_alarm, .sa_flags = SA_ONSTACK | SA_NODEFER };
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } };

	if (ftruncate(fd, STACK) < 0)
		exit(1);
	st.ss_sp = map(STACK, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	act.sa_flags &= ~SA_NODEFER;
	sigaltstack(&st, NULL);
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	work();
}

static void run_on(char *stack, size_t len)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, len);
	if (pthread_create(&t, &attr, work_and_exit, NULL))
		exit(1);
}

/* The pages with the frames of the callers, to which the thread never returns. */
static void punched_stack(void)
{
	int fd = memfd_create("stack", 0);
	char *stack;

	if (ftruncate(fd, STACK) < 0)
		exit(1);
	stack = map(STACK, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	run_on(stack, STACK - PAGE);
	for (;;) {
		(void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, STACK - PAGE, PAGE);
		(void)ftruncate(fd, STACK - PAGE);
		(void)ftruncate(fd, STACK);
	}
}

static void huge_stack(void)
{
	char *p =
		map(4 * (size_t)HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	p += -(uintptr_t)p % HUGE_PAGE;
	(void)madvise(p, 2 * (size_t)HUGE_PAGE, MADV_HUGEPAGE);
	run_on(p, 2 * (size_t)HUGE_PAGE);
	for (;;)
		pause();
}

CALLED static uint64_t descend(int depth)
{
	uint64_t n = depth ? descend(depth - 1) : 0;

	if (!depth)
		work();
	return n + 1;
}

static void *deep_thread(void *unused)
{
	sink += descend(DEPTH);
	return unused;
}

static void deep(void)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, (size_t)64 << 20);
	if (pthread_create(&t, &attr, deep_thread, NULL) == 0)
		pthread_join(t, NULL);
}

static void run_wild(const uint64_t *sps, size_t n_sps, const uint64_t *fps, size_t n_fps)
{
	char *code = map_code(wild, sizeof(wild));
	uint64_t (*f)(uint64_t, uint64_t, uint64_t);

	memcpy(&f, &code, sizeof(f));
	for (size_t i = 0; busy(budget_ms); i++)
		sink += f(ROUNDS, sps[i % n_sps], fps[i / n_sps % n_fps]);
}

static void wild_stack(void)
{
	char *none = map(2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	char *half = map(2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	int zero = open("/dev/zero", O_RDWR | O_CLOEXEC);
	char *device = map(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, zero);
	const uint64_t sps[] = {
		0,
		1,
		(uint64_t)-1,
		(uint64_t)-8,
		1ull << 63,
		0x7ffffffff000,
		0x7fffffffffff,
		0xffff888000000000,
		0xffffffffff600000,
		(uint64_t)none + PAGE,
		(uint64_t)half + 2 * PAGE - 4,
		(uint64_t)half + 2 * PAGE - 8,
		(uint64_t)device,
		(uint64_t)&sink,
		(uint64_t)loop + 1,
		(uint64_t)(void *)hot,
	};

	munmap(half + PAGE, PAGE);
	run_wild(sps, sizeof(sps) / sizeof(*sps), sps, sizeof(sps) / sizeof(*sps));
}

/* Words of which each is the address of the next, so they are frames, callers and saved registers.
 */
static void wild_frames(void)
{
	enum { WORDS = 1 << 16 };
	uint64_t *up = map(WORDS * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	uint64_t *same = map(WORDS * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	uint64_t *back = map(WORDS * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	uint64_t *signals = map(WORDS * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	struct { /* as the kernel has it */
		uint64_t handler, flags, restorer, mask;
	} act = { 0 };
	const struct sigaction set = { .sa_handler = on_alarm };

	sigaction(SIGUSR1, &set, NULL);
	(void)syscall(SYS_rt_sigaction, SIGUSR1, NULL, &act, 8);
	for (int i = 0; i + 1 < WORDS; i++) {
		up[i] = i % 2 ? (uint64_t)(void *)hot + 1 : (uint64_t)&up[i + 2];
		same[i] = i % 2 ? (uint64_t)(void *)hot + 1 : (uint64_t)&same[0];
		back[i] = i % 2 ? 0xffffffff81000000 : (uint64_t)&back[i ? i - 2 : 0];
		signals[i] = i % 2 ? act.restorer : (uint64_t)&signals[0];
	}
	{
		const uint64_t at[] = {
			(uint64_t)up,      (uint64_t)same,          (uint64_t)&back[64],
			(uint64_t)signals, (uint64_t)(signals + 1), (uint64_t)(same + 1)
		};

		run_wild(at, 6, at, 5);
	}
}

/* ---- threads and processes ------------------------------------------------------------------- */

static void names(void)
{
	static const char *const all[] = { "\033[2Jred\033[31m",
					   "\xe2\x80\xaegnp.exe",
					   "\xc0\xaf\xc0\xae",
					   "\xed\xa0\x80\xed\xb0\x80",
					   "a;b;c\n1",
					   "\r\x07\x08\x7f",
					   "\xef\xbf\xbe\xff\xfe",
					   "\xe2\x80\x8b\xe2\x81\xa6" };

	for (unsigned int i = 0; busy(budget_ms); i++) {
		prctl(PR_SET_NAME, all[i % (sizeof(all) / sizeof(*all))], 0, 0, 0);
		sink += hot(sink);
	}
}

static void *map_and_work(void *unused)
{
	usleep(20000);
	while (busy(budget_ms)) {
		char *code = map_code(loop, sizeof(loop));

		for (int i = 0; i < 20; i++) {
			sink += call(code, ROUNDS);
			sink += hot(sink);
		}
		munmap(code, PAGE);
	}
	_exit(0);
	return unused;
}

static void leader_gone(void)
{
	pthread_t t;

	pthread_create(&t, NULL, map_and_work, NULL);
	pthread_create(&t, NULL, work_and_exit, NULL);
	pthread_exit(NULL);
}

static void *work_shortly(void *unused)
{
	sink += hot(sink);
	return unused;
}

static void threads(void)
{
	pthread_t t[8];

	while (busy(budget_ms)) {
		int n = 0;

		while (n < 8 && pthread_create(&t[n], NULL, work_shortly, NULL) == 0)
			n++;
		while (n)
			pthread_join(t[--n], NULL);
	}
}

static void moved(void)
{
	char *code = map_code(loop, sizeof(loop)),
	     *places = map(64 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	for (unsigned int i = 0; busy(budget_ms); i++) {
		code = mremap(code, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
			      places + i % 64 * PAGE);
		if (code == MAP_FAILED)
			exit(1);
		sink += call(code, 1000);
	}
}

static void protected(void)
{
	char *code = map_code(loop, sizeof(loop));

	for (int i = 0; busy(budget_ms); i++) {
		mprotect(code, PAGE, PROT_READ);
		mprotect(code, PAGE, PROT_READ | PROT_EXEC);
		sink += call(code, 1000);
	}
}

static void strict(void)
{
	char *code = map_code(loop, sizeof(loop));

	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
	for (long i = 0; i < budget_ms * 5; i++)
		sink += call(code, ROUNDS * 5);
	syscall(SYS_exit, 0);
}

static void hidden(void)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	work();
}

/* Works in a child, and returns its pid. */
static pid_t work_in_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		work_and_exit(NULL);
	}
	return pid;
}

static void stopped(void)
{
	pid_t pid = work_in_child();

	while (waitpid(pid, NULL, WNOHANG) == 0) {
		kill(pid, SIGSTOP);
		usleep(500);
		kill(pid, SIGCONT);
		usleep(2000);
	}
}

static void zombies(void)
{
	for (int i = 0; i < ZOMBIES; i++)
		if (fork() == 0)
			_exit(0);
	while (busy(budget_ms)) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
		sink += hot(sink);
	}
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (write(fd, text, strlen(text)) < 0)
		fprintf(stderr, "%s: %m\n", path);
	close(fd);
}

static void time_space(void)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWTIME) == 0)
		write_file("/proc/self/timens_offsets",
			   "monotonic 100000000 0\nboottime 100000000 0\n");
	waitpid(work_in_child(), NULL, 0);
}

static void root_space(void)
{
	char dir[] = "/tmp/tricks-XXXXXX";
	bool is_below = mkdtemp(dir) && unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) == 0 &&
			mount("none", dir, "tmpfs", 0, NULL) == 0 && chroot(dir) == 0;
	pid_t pid = work_in_child();

	if (is_below)
		(void)umount2("/", MNT_DETACH);
	waitpid(pid, NULL, 0);
	rmdir(dir);
}

static void first_pid(void)
{
	char line[256], *code = map_code(loop, sizeof(loop));
	pid_t pid;

	(void)unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS);
	snprintf(line, sizeof(line), "%lx 1000 first\033[2J\xe2\x80\xae\xc0\xaf;%%n\n",
		 (unsigned long)code);
	pid = fork();
	if (pid == 0) {
		char path[64];

		snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
		unlink(path);
		write_file(path, line);
		while (busy(budget_ms))
			sink += call(code, ROUNDS);
		unlink(path);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {
		{ "shared-memory", shared_memory },
		{ "vfork-work", vfork_work },
		{ "signal-stack", signal_stack },
		{ "punched-stack", punched_stack },
		{ "huge-stack", huge_stack },
		{ "deep", deep },
		{ "wild-stack", wild_stack },
		{ "wild-frames", wild_frames },
		{ "names", names },
		{ "leader-gone", leader_gone },
		{ "threads", threads },
		{ "moved", moved },
		{ "protected", protected },
		{ "strict", strict },
		{ "hidden", hidden },
		{ "stopped", stopped },
		{ "zombies", zombies },
		{ "time-space", time_space },
		{ "root-space", root_space },
		{ "first-pid", first_pid },
	};

	budget_ms = argc < 3 ? 0 : atol(argv[1]);
	for (size_t i = 0; argc >= 3 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(argv[2], kinds[i].name) == 0)
			kinds[i].run();
	return 0;
}
