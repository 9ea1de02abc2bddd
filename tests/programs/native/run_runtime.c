/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_runtime run|link MS: spends MS of CPU time in the loop of runtime.c, or in another function.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

unsigned long _PyEval_EvalFrameDefault(unsigned long n); /* NOLINT: CPython's name */
unsigned long Py_HashBuffer(unsigned long n);

int main(int argc, char **argv)
{
	clock_t end;

	if (argc != 3)
		return 2;
	end = clock() + strtol(argv[2], NULL, 10) * (CLOCKS_PER_SEC / 1000);
	while (clock() < end)
		(void)(strcmp(argv[1], "run") ? Py_HashBuffer(100000)
					      : _PyEval_EvalFrameDefault(100000));
	return 0;
}
