/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writes N: main calls put() N times, a thread called "second" twice as often; each writes a byte.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int null_fd;

__attribute__((noinline)) void put(void)
{
	if (write(null_fd, "x", 1) != 1)
		abort();
}

static void *second(void *arg)
{
	pthread_setname_np(pthread_self(), "second");
	for (long i = 0; i < 2 * *(long *)arg; i++)
		put();
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	pthread_t thread;

	null_fd = open("/dev/null", O_WRONLY);
	if (pthread_create(&thread, NULL, second, &n))
		return 1;
	for (long i = 0; i < n; i++)
		put();
	pthread_join(thread, NULL);
	return 0;
}
