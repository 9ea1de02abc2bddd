/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convoy N: eight threads append to a log under one mutex, N times each. The one that has the mutex
 * waits for the log's reader, a pipe that another process empties slowly.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

enum { THREADS = 8, BLOCK = 4096, READ_US = 5000 };

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static long turns;

CALLED static void flush_log(const char *block)
{
	if (write(ends[1], block, BLOCK) != BLOCK)
		abort();
}

CALLED static void append_to_log(void)
{
	static char block[BLOCK];

	pthread_mutex_lock(&log_lock);
	flush_log(block);
	pthread_mutex_unlock(&log_lock);
}

static void *serve(void *arg)
{
	prctl(PR_SET_NAME, "worker");
	for (long i = 0; i < turns; i++)
		append_to_log();
	return arg;
}

CALLED static int read_log(void)
{
	char block[BLOCK];

	usleep(READ_US);
	return read(ends[0], block, sizeof(block)) > 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	pid_t reader;

	turns = argc > 1 ? atol(argv[1]) : 20;
	if (pipe(ends) || fcntl(ends[1], F_SETPIPE_SZ, BLOCK) < 0)
		return 1;
	reader = fork();
	if (!reader) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "logreader");
		close(ends[1]);
		while (read_log())
			;
		_exit(0);
	}
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, serve, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	close(ends[1]);
	return waitpid(reader, NULL, 0) != reader;
}
