/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child that waits in the kernel, for example for a hanging file system, does not end when it is
 * killed but when the wait ends. A child that takes longer than a second is counted as abandoned.
 * Since Linux 5.15 a process may have the memory of one that was killed released meanwhile, except
 * for memory that others share.
 */
#include "roles/killed.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "roles/spawn.h"

/* The same on all architectures; older headers lack it. */
#ifndef __NR_process_mrelease
#define __NR_process_mrelease 448
#endif

bool killed_are_released(void)
{
	return syscall(__NR_process_mrelease, -1, 0) < 0 && errno == EBADF;
}

static void release_memory(pid_t pid)
{
	_cleanup_(closep) int fd = (int)syscall(__NR_pidfd_open, pid, 0);

	if (fd >= 0)
		(void)syscall(__NR_process_mrelease, fd, 0);
}

void killed_add(struct killed *k, pid_t pid, uint64_t owner, uint64_t now_ns)
{
	int status;

	kill(pid, SIGKILL);
	/* without memory for the entry, a zombie remains */
	if (!spawn_reap(pid, &status))
		(void)vec_push(k, ((struct killed_child){ pid, owner, now_ns, false }));
}

unsigned int killed_reap(struct killed *k, uint64_t now_ns)
{
	unsigned int n_abandoned = 0;
	size_t n = 0;
	int status;

	for (size_t i = 0; i < k->len; i++) {
		struct killed_child c = k->data[i];

		if (spawn_reap(c.pid, &status))
			continue;
		k->data[n++] = c;
		if (now_ns - c.time_ns <= CLOCK_SECOND_NS)
			continue;
		n_abandoned++;
		if (!c.is_released)
			release_memory(c.pid);
		k->data[n - 1].is_released = true;
	}
	k->len = n;
	return n_abandoned;
}

unsigned int killed_of(const struct killed *k, uint64_t owner)
{
	unsigned int n = 0;

	for (size_t i = 0; i < k->len; i++)
		n += owner ? k->data[i].owner == owner : k->data[i].owner != 0;
	return n;
}

bool killed_are_too_many(const struct killed *k, uint64_t owner, const struct killed_limits *l)
{
	unsigned int n = killed_of(k, 0), most = n < l->max / 2 ? l->max_by_owner : 1;

	return owner && l->max_by_owner &&
	       (killed_of(k, owner) >= most || n >= l->max - l->max / 4);
}
