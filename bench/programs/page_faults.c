/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_faults DEPTH: for each line that it reads, touches fresh memory at this depth of calls, then
 * works on resident memory, and prints the CPU time in ns of a page fault, and of a round of the
 * work. Both are the minimum of some rounds. The rounds are small, with pauses, in which a recorder
 * reads all faults: it would thin them otherwise, and thinned ones cost less.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { FRESH = 2 << 20, RESIDENT = 32 << 20, PAGE = 4096, ROUNDS = 15, PAUSE_US = 50000 };

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void touch(volatile char *p, size_t len)
{
	for (size_t i = 0; i < len; i += PAGE)
		p[i]++;
}

__attribute__((noinline)) static double measure(int depth, volatile char *p, size_t len)
{
	double ns;

	if (depth) {
		ns = measure(depth - 1, p, len);
		__asm__ volatile("" : "+m"(ns)); /* no tail call */
		return ns;
	}
	ns = cpu_ns();
	touch(p, len);
	return cpu_ns() - ns;
}

static double round_of(int depth, size_t len, int again)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	double ns;

	if (p == MAP_FAILED || madvise(p, len, MADV_NOHUGEPAGE) < 0)
		abort();
	if (again)
		touch(p, len);
	usleep(PAUSE_US);
	ns = measure(depth, p, len);
	munmap(p, len);
	return ns;
}

static double best_of(int depth, size_t len, int again)
{
	double best = 1e18;

	for (int i = 0; i < ROUNDS; i++) {
		double ns = round_of(depth, len, again);

		best = ns < best ? ns : best;
	}
	return best;
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 0;

	while (getchar() != EOF) {
		double fresh = best_of(depth, FRESH, 0), again = best_of(depth, FRESH, 1);
		double work = best_of(depth, RESIDENT, 1);

		printf("%.1f %.0f\n", (fresh - again) / ((double)FRESH / PAGE), work);
		fflush(stdout);
	}
	return 0;
}
