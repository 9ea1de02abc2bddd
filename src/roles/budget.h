/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The limits of a job of a child: time, in case it hangs, and CPU time. The time does not include
 * that in which others keep the child from the CPUs, because nobody is to blame for that. Its end
 * is the caller's affair (pool.h).
 */
#include <stdint.h>
#include <sys/types.h>

struct role_budget {
	uint64_t began_ns;      /* CLOCK_MONOTONIC */
	uint64_t began_cpu_ns;  /* CPU time of the child at that time */
	uint64_t began_wait_ns; /* time that it had waited for a CPU, at wait_read_ns */
	uint64_t wait_read_ns;  /* at most a tenth of a second before began_ns; 0: not yet */
	unsigned int wall_ms;
	unsigned int cpu_ms; /* 0: wall_ms */
};

/*
 * Begins a budget of the child @pid now. @b is zeroed before the child's first one. Reading how
 * long the child has waited costs more than many jobs do, so the figure of an earlier job is used
 * for a tenth of a second: waits between that job and this one extend this one's limit, too.
 */
void role_budget_begin(struct role_budget *b, pid_t pid, unsigned int wall_ms, unsigned int cpu_ms);

/* The CPU time that @pid, a child, has used; 0 if it is gone. */
uint64_t role_budget_cpu_ns(pid_t pid);

/*
 * The earliest time at which @pid may have used up the budget; @now_ns if it has. Children have one
 * thread, so their CPU time grows no faster than time passes.
 */
uint64_t role_budget_deadline_ns(const struct role_budget *b, pid_t pid, uint64_t now_ns);

/*
 * The time between the beginning and @now_ns that does not count, because the child waited for a
 * CPU: at most the part in which it used none. Waits of less than a millisecond are not looked for.
 */
uint64_t role_budget_waited_ns(const struct role_budget *b, pid_t pid, uint64_t now_ns);
