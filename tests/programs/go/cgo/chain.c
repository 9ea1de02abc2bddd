/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions of main.go: two callers and a hot leaf. */
#include <stdint.h>

#include "_cgo_export.h"

uint64_t c_outer(uint64_t n);
uint64_t c_hot(uint64_t n);

extern int c_iterations;
int c_iterations = 20000;

__attribute__((noinline)) uint64_t c_hot(uint64_t n)
{
	for (int i = 0; i < c_iterations; i++)
		n = n * 6364136223846793005u + 1442695040888963407u;
	return n;
}

__attribute__((noinline)) static uint64_t c_middle(uint64_t n)
{
	uint64_t sum = n;

	for (int i = 0; i < 3; i++)
		sum += goCallback(sum + i);
	return sum;
}

uint64_t c_outer(uint64_t n)
{
	return c_middle(n + 1) + 1;
}
