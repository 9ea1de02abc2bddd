/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of known sizes, each touched by a function of its own. It prints "ready", waits for a
 * line, holds the memory, prints a line "FUNCTION BYTES" for each function, "held", and waits for a
 * line.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MEBIBYTE = 1 << 20, PAGE = 4096 };

#define HOLD __attribute__((noinline, noclone)) static

static char *map(size_t bytes, int flags)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

static void say(const char *function, size_t bytes)
{
	printf("%s %zu\n", function, bytes);
	fflush(stdout);
}

static void touch(char *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += PAGE)
		((volatile char *)p)[i] = 1;
}

HOLD void hold_before(void)
{
	touch(map(8 * MEBIBYTE, MAP_PRIVATE), 8 * MEBIBYTE);
}

HOLD void hold_written(void)
{
	touch(map(24 * MEBIBYTE, MAP_PRIVATE), 24 * MEBIBYTE);
	say(__func__, 24 * MEBIBYTE);
}

HOLD void hold_malloc(void)
{
	char *p = malloc(12 * MEBIBYTE);

	memset(p, 1, 12 * MEBIBYTE);
	__asm__ volatile("" : : "r"(p) : "memory"); /* the compiler must not omit either */
	say(__func__, 12 * MEBIBYTE);
}

HOLD void hold_shared(void)
{
	touch(map(6 * MEBIBYTE, MAP_SHARED), 6 * MEBIBYTE);
	say(__func__, 6 * MEBIBYTE);
}

/* Huge pages, if the kernel has any: one fault each. */
HOLD void hold_huge(void)
{
	size_t huge = 2 * MEBIBYTE;
	char *p = map(5 * huge, MAP_PRIVATE);

	p += (huge - (size_t)p % huge) % huge;
	madvise(p, 4 * huge, MADV_HUGEPAGE);
	touch(p, 4 * huge);
	say(__func__, 4 * huge);
}

/* The kernel writes to it, in a system call. */
HOLD void hold_read(void)
{
	char *p = map(4 * MEBIBYTE, MAP_PRIVATE);
	int fd = open("/dev/zero", O_RDONLY);

	if (read(fd, p, 4 * MEBIBYTE) != 4 * MEBIBYTE)
		abort();
	close(fd);
	say(__func__, 4 * MEBIBYTE);
}

/* The zero page is not resident; then one half is written. */
HOLD void hold_half(void)
{
	volatile char *p = map(8 * MEBIBYTE, MAP_PRIVATE);
	char sum = 0;

	for (size_t i = 0; i < 8 * MEBIBYTE; i += PAGE)
		sum += p[i];
	touch((char *)p, 4 * MEBIBYTE + sum);
	say(__func__, 4 * MEBIBYTE);
}

HOLD void drop_all(void)
{
	char *p = map(16 * MEBIBYTE, MAP_PRIVATE);

	touch(p, 16 * MEBIBYTE);
	munmap(p, 8 * MEBIBYTE);
	madvise(p + 8 * MEBIBYTE, 8 * MEBIBYTE, MADV_DONTNEED);
	say(__func__, 0);
}

/* The same addresses, touched by one function, dropped, and touched by another. */
HOLD void touch_again(char *p)
{
	touch(p, 5 * MEBIBYTE);
	say(__func__, 5 * MEBIBYTE);
}

HOLD void drop_first(void)
{
	char *p = map(5 * MEBIBYTE, MAP_PRIVATE);

	touch(p, 5 * MEBIBYTE);
	madvise(p, 5 * MEBIBYTE, MADV_DONTNEED);
	touch_again(p);
}

/* No exception makes this memory resident. Its addresses are those of dropped memory. */
HOLD void hold_populated(void)
{
	map(3 * MEBIBYTE, MAP_PRIVATE | MAP_POPULATE);
	say(__func__, 3 * MEBIBYTE);
}

/* The child has its parent's memory, writes to a part of it, and touches some of its own. */
HOLD void touch_in_child(void)
{
	touch(map(7 * MEBIBYTE, MAP_PRIVATE), 7 * MEBIBYTE);
}

static pid_t start_child(char *shared)
{
	int ready[2];
	char byte = 0;
	pid_t pid;

	if (pipe(ready) < 0)
		abort();
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		touch(shared, MEBIBYTE);
		touch_in_child();
		(void)!write(ready[1], &byte, 1);
		pause();
	}
	(void)!read(ready[0], &byte, 1);
	return pid;
}

HOLD char *hold_inherited(void)
{
	char *p = map(9 * MEBIBYTE, MAP_PRIVATE);

	touch(p, 9 * MEBIBYTE);
	say(__func__, 9 * MEBIBYTE);
	return p;
}

int main(void)
{
	pid_t child;

	hold_before();
	puts("ready");
	fflush(stdout);
	getchar();
	hold_written();
	hold_malloc();
	hold_shared();
	hold_huge();
	hold_read();
	hold_half();
	drop_all();
	drop_first();
	hold_populated();
	child = start_child(hold_inherited());
	printf("child %d\nheld\n", (int)child);
	fflush(stdout);
	getchar();
	kill(child, 9);
	waitpid(child, NULL, 0);
	return 0;
}
