/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new thread inherits the signal mask of its creator, so blocking the signals here leaves no
 * window in which the thread could receive one.
 */
#include "base/thread.h"

#include <signal.h>
#include <time.h>

#include "base/clock.h"

int thread_start(pthread_t *out, void *(*run)(void *arg), void *arg)
{
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(out, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -r;
}

int thread_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns)
{
	const struct timespec until = { .tv_sec = (time_t)(until_ns / CLOCK_SECOND_NS),
					.tv_nsec = (long)(until_ns % CLOCK_SECOND_NS) };

	return pthread_cond_clockwait(cond, lock, CLOCK_MONOTONIC, &until);
}

void thread_rwlock_init(pthread_rwlock_t *lock)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(lock, &attr);
	pthread_rwlockattr_destroy(&attr);
}
