// SPDX-License-Identifier: Apache-2.0
/*
 * A leaf function in assembly, without CFI and frame, that code with frame pointers calls, in a
 * file in which most code has CFI: rbp is the frame pointer of its caller.
 */
#include <stdlib.h>
#include <time.h>

__asm__(".text\n"
	".p2align 4\n"
	".globl hot\n"
	".type hot, @function\n"
	"hot:	mov $20000, %eax\n"
	"1:	.rept 24\n"
	"	add $1, %ecx\n"
	"	.endr\n"
	"	dec %eax\n"
	"	jnz 1b\n"
	"	ret\n"
	".size hot, . - hot\n");

void hot(void);
void inner(void);
void outer(void);

__attribute__((noinline)) void inner(void)
{
	hot();
	__asm__ volatile("");
}

__attribute__((noinline)) void outer(void)
{
	inner();
	__asm__ volatile("");
}

#define FILLER(n)                                                                                  \
	int filler_##n(const int *a);                                                              \
	int filler_##n(const int *a)                                                               \
	{                                                                                          \
		return (a[n] * 3 + a[n + 1] / 7) ^ (a[n + 2] % 11 + a[n + 3] / 13);                \
	}

FILLER(1)
FILLER(2)
FILLER(3)
FILLER(4)

int main(int argc, char **argv)
{
	const clock_t end = argc > 1 ? atol(argv[1]) * (CLOCKS_PER_SEC / 1000) : 0;

	while (clock() < end)
		outer();
	return 0;
}
