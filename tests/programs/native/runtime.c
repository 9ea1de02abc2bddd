/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that looks like CPython 3.99, which does not exist: detection goes by these symbols.
 * The function next to the interpreter's loop is what a program calls that links with the library
 * but runs no Python.
 */
#include <stdint.h>

const uint32_t Py_Version = 0x036300f0;
char _PyRuntime[64]; /* NOLINT: CPython's name */

unsigned long _PyEval_EvalFrameDefault(unsigned long n); /* NOLINT */
unsigned long Py_HashBuffer(unsigned long n);

__attribute__((noinline)) unsigned long _PyEval_EvalFrameDefault(unsigned long n) /* NOLINT */
{
	volatile unsigned long sum = 0;

	while (n--)
		sum += n;
	return sum;
}

__attribute__((noinline)) unsigned long Py_HashBuffer(unsigned long n)
{
	volatile unsigned long sum = 1;

	while (n--)
		sum ^= n;
	return sum;
}
