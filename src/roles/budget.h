/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The limits of a job of a child: time, in case it hangs, and CPU time. A child that others keep
 * from the CPUs uses up the first only.
 */
#include <stdint.h>
#include <sys/types.h>

struct role_budget {
	uint64_t began_ns;     /* CLOCK_MONOTONIC */
	uint64_t began_cpu_ns; /* CPU time of the child at that time */
	unsigned int wall_ms;
	unsigned int cpu_ms; /* 0: no such limit */
};

/* The CPU time that @pid, a child, has used; 0 if it is gone. */
uint64_t role_budget_cpu_ns(pid_t pid);

/*
 * The earliest time at which @pid may have used up the budget; @now_ns if it has. Children have one
 * thread, so their CPU time grows no faster than time passes.
 */
uint64_t role_budget_deadline_ns(const struct role_budget *b, pid_t pid, uint64_t now_ns);
