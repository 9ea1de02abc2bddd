/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread inside sigbus_run() has a guard. The signal handler, which runs on the thread that
 * faulted, replaces the missing page by an anonymous page of zeros and marks the guard. A jump
 * out of the parser would leak its memory instead, as often as the owner of a file likes.
 * Signal handlers have no argument of their own, so the guard is thread-local and the previous
 * action static; there is no other such state in this folder.
 *
 * Not covered are system calls on such memory (they return -EFAULT) and memory errors of the
 * hardware.
 */
#include "base/sigbus.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

struct guard {
	sigjmp_buf env;
	volatile sig_atomic_t missed;
};

static __thread struct guard *volatile thread_guard;
static struct sigaction previous;
static uintptr_t page_len;

static void pass_on(int sig, siginfo_t *info, void *uc)
{
	if (previous.sa_flags & SA_SIGINFO) {
		previous.sa_sigaction(sig, info, uc);
	} else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
		previous.sa_handler(sig);
	} else {
		/*
		 * With the default action restored, the faulting instruction raises the signal
		 * again.
		 */
		sigaction(SIGBUS, &previous, NULL);
		if (info->si_code <= 0)
			raise(sig);
	}
}

static void on_sigbus(int sig, siginfo_t *info, void *uc)
{
	uintptr_t page = (uintptr_t)info->si_addr & ~(page_len - 1);
	struct guard *g = thread_guard;
	int saved_errno = errno;

	if (!g || info->si_code != BUS_ADRERR) {
		pass_on(sig, info, uc);
		errno = saved_errno;
		return;
	}
	g->missed = 1;
	if (mmap((void *)page, page_len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) == MAP_FAILED)
		siglongjmp(g->env, 1);
	errno = saved_errno;
}

/* Reinstalls the handler if other code, such as a test framework, has replaced it. */
static int install(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct sigaction sa = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	struct sigaction now;
	int r = 0;

	sigemptyset(&sa.sa_mask);
	pthread_mutex_lock(&lock);
	if (sigaction(SIGBUS, NULL, &now) < 0) {
		r = -errno;
	} else if (!(now.sa_flags & SA_SIGINFO) || now.sa_sigaction != on_sigbus) {
		previous = now;
		page_len = (uintptr_t)sysconf(_SC_PAGESIZE);
		if (sigaction(SIGBUS, &sa, NULL) < 0)
			r = -errno;
	}
	pthread_mutex_unlock(&lock);
	return r;
}

int sigbus_run(sigbus_fn fn, void *ctx)
{
	struct guard *outer = thread_guard;
	struct guard g = { .missed = 0 };
	int r = install();

	if (r < 0)
		return r;
	if (sigsetjmp(g.env, 1)) {
		thread_guard = outer;
		return -EFAULT;
	}
	thread_guard = &g;
	r = fn(ctx);
	thread_guard = outer;
	return g.missed ? -EFAULT : r;
}
