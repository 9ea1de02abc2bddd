/* SPDX-License-Identifier: Apache-2.0 */
#include "roles/budget.h"

#include <time.h>

#include "base/clock.h"
#include "proc/stat.h"

/* The kernel's figures of a child are not read again before this has passed. */
static const uint64_t CPU_STEP_NS = CLOCK_MS_NS, WAIT_STEP_NS = 10 * (uint64_t)CLOCK_MS_NS;
/* For this time, the next budget begins with the waits that were read for an earlier one. */
static const uint64_t WAIT_VALID_NS = 100 * (uint64_t)CLOCK_MS_NS;
/* Waits that are shorter do not matter. */
static const uint64_t WAIT_MIN_NS = CLOCK_MS_NS;

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t role_budget_cpu_ns(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) < 0)
		return 0;
	return (uint64_t)t.tv_sec * CLOCK_SECOND_NS + (uint64_t)t.tv_nsec;
}

void role_budget_begin(struct role_budget *b, pid_t pid, unsigned int wall_ms, unsigned int cpu_ms)
{
	b->wall_ms = wall_ms;
	b->cpu_ms = cpu_ms;
	b->began_ns = clock_monotonic_ns();
	b->began_cpu_ns = role_budget_cpu_ns(pid);
	if (b->wait_read_ns && b->began_ns - b->wait_read_ns < WAIT_VALID_NS)
		return;
	b->began_wait_ns = proc_cpu_wait_ns(pid);
	b->wait_read_ns = b->began_ns;
}

/* The time that @pid has waited for a CPU since the beginning, up to its last turn on one. */
static uint64_t waited_ns(const struct role_budget *b, pid_t pid)
{
	uint64_t ns = proc_cpu_wait_ns(pid);

	return ns > b->began_wait_ns ? ns - b->began_wait_ns : 0;
}

static uint64_t used_ns(const struct role_budget *b, pid_t pid)
{
	uint64_t ns = role_budget_cpu_ns(pid);

	return ns > b->began_cpu_ns ? ns - b->began_cpu_ns : 0;
}

/* The earliest time at which the CPU time may be used up; @now_ns if it is. */
static uint64_t cpu_end_ns(const struct role_budget *b, pid_t pid, uint64_t now_ns)
{
	uint64_t left_ns = (uint64_t)(b->cpu_ms ? b->cpu_ms : b->wall_ms) * CLOCK_MS_NS;
	uint64_t cpu_ns = used_ns(b, pid);

	if (cpu_ns >= left_ns)
		return now_ns;
	left_ns -= cpu_ns;
	return now_ns + (left_ns < CPU_STEP_NS ? CPU_STEP_NS : left_ns);
}

/*
 * The kernel counts a wait for a CPU when it is over. So the time of a child that sleeps is known,
 * and one that is runnable is waited for: either it computes, which its CPU time limits, or others
 * keep it from doing so.
 */
static uint64_t wall_end_ns(const struct role_budget *b, pid_t pid, uint64_t now_ns)
{
	uint64_t wall_ns = (uint64_t)b->wall_ms * CLOCK_MS_NS, end_ns = b->began_ns + wall_ns;

	if (now_ns < end_ns)
		return end_ns;
	end_ns = proc_is_runnable(pid) ? now_ns + WAIT_STEP_NS : end_ns + waited_ns(b, pid);
	return end_ns <= now_ns ? now_ns : end_ns;
}

uint64_t role_budget_deadline_ns(const struct role_budget *b, pid_t pid, uint64_t now_ns)
{
	uint64_t end_ns = wall_end_ns(b, pid, now_ns);

	/* a job that may compute all the time cannot have used up its CPU time earlier */
	if (!b->cpu_ms && now_ns < b->began_ns + (uint64_t)b->wall_ms * CLOCK_MS_NS)
		return end_ns;
	return earlier(end_ns, cpu_end_ns(b, pid, now_ns));
}

/* A wait that ends after the beginning may have begun before it; the CPU time is exact. */
uint64_t role_budget_waited_ns(const struct role_budget *b, pid_t pid, uint64_t now_ns)
{
	uint64_t cpu_ns = used_ns(b, pid), end_ns = b->began_ns + cpu_ns;

	if (now_ns < end_ns + WAIT_MIN_NS)
		return 0;
	return earlier(waited_ns(b, pid), now_ns - end_ns);
}
