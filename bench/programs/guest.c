/* SPDX-License-Identifier: Apache-2.0 */
/* guest SECONDS: sorting, floating point and printing, to be run by qemu-user. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}
static int cmp(const void *a, const void *b)
{
	return *(int *)a - *(int *)b;
}
static double fp(int n)
{
	double s = 0;
	for (int i = 1; i < n; i++)
		s += 1.0 / i / i;
	return s;
}
int main(int c, char **v)
{
	double end = now() + atof(v[1]);
	unsigned s = 1;
	static int a[20000];
	double x = 0;
	while (now() < end) {
		for (int i = 0; i < 20000; i++)
			a[i] = (s = s * 1103515245 + 12345);
		qsort(a, 20000, 4, cmp);
		x += fp(20000);
		char b[64];
		for (int i = 0; i < 2000; i++)
			sprintf(b, "%d %f", a[i], x);
	}
	printf("%f %d\n", x, a[7]);
}
