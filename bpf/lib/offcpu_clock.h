/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Off-CPU: the time of a switch, from the run queue's clock. Reading another clock would be a third
 * of the cost of a switch, and the scheduler has just read this one. Its offset to CLOCK_MONOTONIC
 * is measured ten times a second.
 */
#include "bpf/shared/offcpu.h"

enum {
	OFF_SYNC_NS = 100000000, /* the two clocks are compared at this interval */
	OFF_STEP_NS = 1000000,   /* a larger difference means that a clock was set */
	OFF_DRIFT_SHIFT = 3,
};

const volatile __u32 off_queue_clock = 0; /* the kernel has se.cfs_rq and sched_info */

/*
 * The state of each CPU: its clock's offset, and the number of stacks that it recorded recently,
 * which decides which intervals are worth one.
 */
struct off_cpu {
	__u64 threshold_ns; /* intervals of a typically shorter length are sampled */
	__u64 period_end_ns;
	__u64 synced_at, ahead_ns; /* time of the last comparison by the run queue's clock; our
				      clock's offset to it */
	__u32 n_taken, n_out;      /* stacks taken and intervals begun in the current period */
	__u32 is_storm, reserved;  /* the previous period had OFF_STORM intervals, in proportion to
				      its length */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct off_cpu);
} off_cpus SEC(".maps");

static __always_inline struct off_cpu *off_cpu_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&off_cpus, &zero);
}

/*
 * Updates the offset. The run queue's clock was read a moment ago, so the smallest difference is
 * the true one.
 */
static __always_inline void off_sync(struct off_cpu *cpu, __u64 clock)
{
	__u64 ahead = bpf_ktime_get_ns() - clock, more = ahead - cpu->ahead_ns;

	if (more < OFF_STEP_NS)
		cpu->ahead_ns += more >> OFF_DRIFT_SHIFT;
	else
		cpu->ahead_ns = ahead;
	cpu->synced_at = clock;
}

/* The time of a switch in ns of CLOCK_MONOTONIC. */
static __always_inline __u64 off_now(struct off_cpu *cpu, struct task_struct *task)
{
	__u64 clock;

	if (!off_queue_clock)
		return bpf_ktime_get_ns();
	clock = task->se.cfs_rq->rq->clock;
	if (clock - cpu->synced_at >= OFF_SYNC_NS)
		off_sync(cpu, clock);
	return clock + cpu->ahead_ns;
}
