/* SPDX-License-Identifier: Apache-2.0 */
/* The mask is the new thread's from its beginning: it begins with that of who makes it. */
#include "base/thread.h"

#include <signal.h>

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
