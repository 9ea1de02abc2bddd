/* SPDX-License-Identifier: Apache-2.0 */
#include "roles/budget.h"

#include <time.h>

#include "base/clock.h"

/* The CPU time is not read again before this has passed. */
static const uint64_t CPU_STEP_NS = CLOCK_MS_NS;

uint64_t role_budget_cpu_ns(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) < 0)
		return 0;
	return (uint64_t)t.tv_sec * CLOCK_SECOND_NS + (uint64_t)t.tv_nsec;
}

uint64_t role_budget_deadline_ns(const struct role_budget *b, pid_t pid, uint64_t now_ns)
{
	uint64_t end_ns = b->began_ns + (uint64_t)b->wall_ms * CLOCK_MS_NS;
	uint64_t used_ns, left_ns = (uint64_t)b->cpu_ms * CLOCK_MS_NS;

	if (end_ns <= now_ns)
		return now_ns;
	if (!b->cpu_ms)
		return end_ns;
	used_ns = role_budget_cpu_ns(pid);
	used_ns = used_ns > b->began_cpu_ns ? used_ns - b->began_cpu_ns : 0;
	if (used_ns >= left_ns)
		return now_ns;
	left_ns -= used_ns;
	if (left_ns < CPU_STEP_NS)
		left_ns = CPU_STEP_NS;
	return end_ns - now_ns < left_ns ? end_ns : now_ns + left_ns;
}
