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
	uint64_t began_wait_ns; /* time that it had waited for a CPU */
	unsigned int wall_ms;
	unsigned int cpu_ms; /* 0: wall_ms */
};

/* Begins a budget, whose limits are set, of the child @pid now. */
void role_budget_begin(struct role_budget *b, pid_t pid);

/* The CPU time that @pid, a child, has used; 0 if it is gone. */
uint64_t role_budget_cpu_ns(pid_t pid);

/*
 * The earliest time at which @pid may have used up the budget; @now_ns if it has. Children have one
 * thread, so their CPU time grows no faster than time passes.
 */
uint64_t role_budget_deadline_ns(const struct role_budget *b, pid_t pid, uint64_t now_ns);

/*
 * The time between the beginning and @now_ns that does not count, because the child waited for a
 * CPU: at most the part in which it used none.
 */
uint64_t role_budget_waited_ns(const struct role_budget *b, pid_t pid, uint64_t now_ns);
