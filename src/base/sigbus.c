/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread inside sigbus_run() has a guard. The signal handler, which runs on the thread that
 * faulted, replaces the missing page by an anonymous page of zeros and marks the guard. A jump out
 * of the parser would leak its memory, and the owner of a file could repeat that. Signal handlers
 * have no argument of their own, so the guard is thread-local, and the previous action and the
 * watched mappings are static. A mapping is complete before its owner is stored, and the handler
 * only compares owners, so it may run while a watch begins or ends.
 *
 * Not covered are system calls on such memory (they return -EFAULT) and memory errors of the
 * hardware.
 */
#include "base/sigbus.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
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

struct watched {
	_Atomic(const void *) owner; /* NULL: not in use */
	_Atomic uintptr_t at;
	atomic_size_t len;
	atomic_bool lost;
};

static struct watched watched[SIGBUS_MAX_WATCHED];
static atomic_int n_watched; /* of which were ever in use */

static void lose_all_of(const void *owner)
{
	for (int i = 0; i < n_watched; i++)
		if (watched[i].owner == owner)
			watched[i].lost = true;
}

/* Marks the owners of the mappings with this page. Returns false if there is none. */
static bool lose(uintptr_t page)
{
	bool found = false;

	for (int i = 0; i < n_watched; i++) {
		const void *owner = watched[i].owner;

		if (!owner || page < watched[i].at || page - watched[i].at >= watched[i].len)
			continue;
		lose_all_of(owner);
		found = true;
	}
	return found;
}

static bool replace_page(uintptr_t page, int protection)
{
	return mmap((void *)page, page_len, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		    0) != MAP_FAILED;
}

static void on_sigbus(int sig, siginfo_t *info, void *uc)
{
	uintptr_t page = (uintptr_t)info->si_addr & ~(page_len - 1);
	struct guard *g = thread_guard;
	int saved_errno = errno;

	if (info->si_code == BUS_ADRERR && lose(page) &&
	    replace_page(page, PROT_READ | PROT_WRITE)) {
		errno = saved_errno;
		return;
	}
	if (!g || info->si_code != BUS_ADRERR) {
		pass_on(sig, info, uc);
		errno = saved_errno;
		return;
	}
	g->missed = 1;
	if (!replace_page(page, PROT_READ))
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

static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;

/* With the lock. */
static int watch_new(const void *owner, const volatile void *at, size_t len)
{
	int i = 0;

	while (i < n_watched && watched[i].owner)
		i++;
	if (i == SIGBUS_MAX_WATCHED)
		return -ENOSPC;
	watched[i].at = (uintptr_t)at;
	watched[i].len = len;
	watched[i].lost = false;
	watched[i].owner = owner;
	if (i == n_watched)
		n_watched++;
	return i;
}

int sigbus_watch(const void *owner, const volatile void *at, size_t len)
{
	int r = install();

	if (r < 0)
		return r;
	pthread_mutex_lock(&watch_lock);
	r = watch_new(owner, at, len);
	pthread_mutex_unlock(&watch_lock);
	return r;
}

void sigbus_unwatch(const void *owner)
{
	pthread_mutex_lock(&watch_lock);
	for (int i = 0; i < n_watched; i++)
		if (watched[i].owner == owner)
			watched[i].owner = NULL;
	pthread_mutex_unlock(&watch_lock);
}

bool sigbus_is_lost(int number)
{
	return watched[number].lost;
}
