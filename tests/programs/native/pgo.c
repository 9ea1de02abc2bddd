/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pgo ROUNDS: interprets a program of few instructions. step() is too large to be inlined, unless a
 * profile shows which of its cases are hot.
 */
#include <stdio.h>
#include <stdlib.h>

enum { N = 4096 };
static unsigned char ops[N];

/* One instruction; most cases are rare. */
static unsigned long step(unsigned op, unsigned long v, unsigned long k)
{
	switch (op) {
	case 0:
		return v + k;
	case 1:
		return v ^ (v >> 7) ^ k;
	case 2:
		for (int i = 0; i < 9; i++)
			v = v * 31 + (v >> 3) + k;
		return v;
	case 3:
		return (v << 13 | v >> 51) * 5 + (k ^ v << 3) - (v >> 11) * 17;
	case 4:
		return v / (k | 1) + v % (k | 3);
	case 5:
		return (v & k) + (v | k) * 3 - (v ^ k) / 5;
	case 6:
		for (int i = 0; i < 5; i++)
			v ^= v << (k & 7) ^ v >> 5;
		return v;
	case 7:
		return v - (k << 5) + (v >> 19) * 7 + k / 3;
	case 8:
		return (v * k) ^ (v * 0x9e3779b97f4a7c15) ^ (k >> 3);
	default:
		abort();
	}
}

__attribute__((noinline)) static unsigned long cold(unsigned op, unsigned long v)
{
	return step(op, v, 3) + step(op + 1, v, 5);
}

int main(int argc, char **argv)
{
	unsigned long v = 1, n = strtoul(argv[1], NULL, 10);

	for (unsigned i = 0; i < N; i++)
		ops[i] = i % 512 ? i % 2 : 2 + i / 512 % 7;
	for (unsigned long i = 0; i < n; i++) {
		for (unsigned k = 0; k < N; k++)
			v = step(ops[k], v, k);
	}
	if (argc > 2)
		v += cold(v & 7, v);
	printf("%lu\n", v);
}
