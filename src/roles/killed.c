/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child that waits in the kernel, for example for a hanging file system, does not end when it is
 * killed but when the wait ends. Until then it holds memory, so those that take longer than a
 * second are counted as abandoned.
 */
#include "roles/killed.h"

#include <signal.h>

#include "base/clock.h"
#include "roles/spawn.h"

void killed_add(struct killed *k, pid_t pid, uint64_t now_ns)
{
	int status;

	kill(pid, SIGKILL);
	/* without memory for the entry, a zombie remains */
	if (!spawn_reap(pid, &status))
		(void)vec_push(k, ((struct killed_child){ pid, now_ns }));
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
		n_abandoned += now_ns - c.time_ns > CLOCK_SECOND_NS;
	}
	k->len = n;
	return n_abandoned;
}
