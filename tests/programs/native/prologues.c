/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that create and leave their frames in many different ways, each called a few times, for
 * tests that examine every instruction. main begins with a breakpoint.
 */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "work.h"

static volatile uint64_t sink;
static jmp_buf far_away;

CALLED static uint64_t leaf(uint64_t a, uint64_t b)
{
	return a * 31 + b;
}

/* More values are live across calls than there are callee-saved registers. */
CALLED static uint64_t many_registers(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	uint64_t p = leaf(a, b), q = leaf(b, c), r = leaf(c, d), s = leaf(d, e), t = leaf(e, a);
	uint64_t u = leaf(p, q), v = leaf(r, s);

	return leaf(u, v) + leaf(t, p) + leaf(q, r) + leaf(s, t) + a + b + c + d + e;
}

/* Nothing is pushed on the path that returns at once. */
CALLED static uint64_t early_return(uint64_t n)
{
	uint64_t sum = 0;

	if (n % 3)
		return n;
	for (uint64_t i = 0; i < n % 8; i++)
		sum += leaf(sum, i) + leaf(i, n);
	return sum;
}

CALLED static uint64_t variable_frame(size_t n)
{
	unsigned char *bytes = alloca(n + 1);

	memset(bytes, (int)n, n + 1);
	return leaf(bytes[n / 2], bytes[n]);
}

CALLED static uint64_t large_frame(uint64_t n)
{
	volatile char bytes[20000];

	bytes[n % sizeof(bytes)] = (char)n;
	return leaf(n, (uint64_t)bytes[n % sizeof(bytes)]);
}

CALLED static uint64_t aligned_frame(uint64_t n)
{
	_Alignas(64) volatile uint64_t words[8] = { n };

	words[n % 8] = leaf(n, n);
	return leaf(words[n % 8], (uintptr_t)words % 64);
}

/* It has both, so the frame is addressed through a separate register. */
CALLED static uint64_t aligned_variable_frame(uint64_t n)
{
	_Alignas(64) volatile uint64_t words[8] = { n };
	volatile uint64_t *more = alloca((n % 5 + 1) * sizeof(*more));

	more[n % 5] = leaf(n, words[0]);
	return leaf(more[n % 5], words[0]);
}

CALLED static uint64_t variadic(int n, ...)
{
	uint64_t sum = 0;
	va_list args;

	va_start(args, n);
	for (int i = 0; i < n; i++)
		sum += leaf(sum, va_arg(args, uint64_t));
	va_end(args);
	return sum;
}

CALLED static uint64_t on_the_stack(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
				    uint64_t f, uint64_t g, uint64_t h, uint64_t i)
{
	return leaf(a + b + c, d + e + f) + leaf(g + h, i);
}

CALLED static uint64_t recursive(uint64_t n)
{
	uint64_t r = n ? recursive(n - 1) : leaf(n, n);

	__asm__ volatile("" : "+r"(r));
	return r + 1;
}

CALLED static void jump(uint64_t n)
{
	if (leaf(n, n) != 1)
		longjmp(far_away, 1);
}

CALLED static uint64_t non_local(uint64_t n)
{
	if (!setjmp(far_away))
		jump(n);
	return sink;
}

CALLED static uint64_t selected(uint64_t n)
{
	switch (n % 5) {
	case 0:
		return leaf(n, 1);
	case 1:
		return variable_frame(n);
	case 2:
		return early_return(n);
	case 3:
		return on_the_stack(n, 1, 2, 3, 4, 5, 6, 7, 8);
	default:
		return 0;
	}
}

static void handler(int sig)
{
	sink += leaf((uint64_t)sig, sink);
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Each is called through the PLT for the first time, so the loader binds it now. */
CALLED static uint64_t library(void)
{
	int numbers[] = { 3, 1, 4, 1, 5, 9, 2, 6 };
	struct timespec ts;
	char text[64];

	qsort(numbers, sizeof(numbers) / sizeof(numbers[0]), sizeof(numbers[0]), compare);
	snprintf(text, sizeof(text), "%d %s %.2f", numbers[0], "words", 2.5);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return strtoul(text, NULL, 10) + (uint64_t)ts.tv_nsec % 2;
}

int main(void)
{
	__asm__ volatile("int3");
	signal(SIGUSR1, handler);
	for (uint64_t n = 1; n < 7; n++) {
		sink += many_registers(n, 2, 3, 4, 5) + early_return(n) + variable_frame(n * 10);
		sink += large_frame(n) + aligned_frame(n) + aligned_variable_frame(n);
		sink += variadic(3, n, n + 1, n + 2) + on_the_stack(n, 2, 3, 4, 5, 6, 7, 8, 9);
		sink += recursive(n) + non_local(n) + selected(n);
	}
	sink += library();
	raise(SIGUSR1);
	return 0;
}
