/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heap allocations of known sizes, each by a function of its own; also compiled as C++. It prints
 * "ready", waits for a line, allocates, prints a line "FUNCTION ALLOCATED IN_USE" (bytes) for each
 * function, "held", and waits for a line. With ENDLESS, its threads allocate until it is killed.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __cplusplus
#include <stdexcept>
#include <vector>
#endif

#ifdef ENDLESS
#define FREES_ALL 1
#else
#define FREES_ALL 0
#endif

#define DO __attribute__((noinline)) static

/* The compiler must neither omit an allocation nor call a function's successor by a jump. */
static void use(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

static void say(const char *function, size_t allocated, size_t in_use)
{
	printf("%s %zu %zu\n", function, allocated, in_use);
	fflush(stdout);
}

DO void do_churn(void)
{
	for (int i = 0; i < 100000; i++) {
		void *p = malloc(100);

		use(p);
		free(p);
	}
	say(__func__, 100000 * 100, 0);
}

DO void do_keep(void)
{
	for (int i = 0; i < 30000; i++)
		use(malloc(200));
	say(__func__, 30000 * 200, 30000 * 200);
}

DO void do_large(void)
{
	for (int i = 0; i < 8; i++) {
		void *p = malloc(3 << 20);

		use(p);
		if (i % 2)
			free(p);
	}
	say(__func__, 8 * (3 << 20), 4 * (3 << 20));
}

/* A block that grows is allocated again each time, as far as the program is concerned. */
DO void do_grow(void)
{
	size_t allocated = 0, n = 0;
	void *p = NULL;

	for (int i = 1; i <= 100; i++) {
		n = (size_t)i * 2000;
		p = realloc(p, n);
		use(p);
		allocated += n;
	}
	say(__func__, allocated, n);
}

DO void do_zeroed(void)
{
	for (int i = 0; i < 20000; i++) {
		void *p = calloc(10, 30);

		use(p);
		if (i % 2)
			free(p);
	}
	say(__func__, 20000 * 300, 10000 * 300);
}

DO void do_aligned(void)
{
	for (int i = 0; i < 5000; i++) {
		void *p = NULL;

		if (posix_memalign(&p, 64, 512))
			abort();
		use(p);
		p = aligned_alloc(64, 512);
		use(p);
		free(p);
	}
	say(__func__, 2 * 5000 * 512, 5000 * 512);
}

/* Failed calls allocate nothing, and leave the old block alone. */
DO void do_fail(void)
{
	static volatile size_t much = SIZE_MAX / 4;
	char *p = (char *)malloc(1 << 20);

	for (int i = 0; i < 1000; i++) {
		use(malloc(much));
		use(calloc(much, much));
	}
	use(realloc(p, much));
	say(__func__, 1 << 20, 1 << 20);
}

static void *thread(void *arg)
{
	for (int i = 0; i < 20000; i++) {
		void *p = malloc(128);

		use(p);
		if (i % 4 || FREES_ALL)
			free(p);
	}
	return arg;
}

DO void do_threads(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
#ifndef ENDLESS
	say("thread", 4 * 20000 * 128, 4 * 5000 * 128);
#endif
}

/* A child frees its copies of the blocks, and not those of its parent. */
DO void do_fork(void)
{
	static void *blocks[10000];
	pid_t child;

	for (int i = 0; i < 10000; i++)
		blocks[i] = malloc(256);
	child = fork();
	if (!child) {
		for (int i = 0; i < 10000; i++)
			free(blocks[i]);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	use(blocks);
	say(__func__, 10000 * 256, 10000 * 256);
}

#ifdef __cplusplus
struct thing {
	char bytes[160];
	explicit thing(int i)
	{
		if (i % 10 == 0)
			throw std::runtime_error("every tenth");
	}
};

/* An exception in a constructor frees the block. */
DO void do_new(void)
{
	for (int i = 0; i < 20000; i++) {
		try {
			use(new thing(i));
		} catch (const std::exception &e) {
			use((void *)e.what());
		}
	}
	say(__func__, 20000 * sizeof(thing), 18000 * sizeof(thing));
}

DO void do_bad_alloc(void)
{
	static volatile size_t much = SIZE_MAX / 4;

	for (int i = 0; i < 1000; i++) {
		try {
			use(operator new(much));
		} catch (const std::bad_alloc &) {
			continue;
		}
		abort();
	}
}
#endif

int main(void)
{
	puts("ready");
	fflush(stdout);
	getchar();
#ifdef ENDLESS
	for (;;)
		do_threads();
#endif
	do_churn();
	do_keep();
	do_large();
	do_grow();
	do_zeroed();
	do_aligned();
	do_fail();
	do_threads();
	do_fork();
#ifdef __cplusplus
	do_bad_alloc();
	do_new();
#endif
	puts("held");
	fflush(stdout);
	getchar();
	return 0;
}
