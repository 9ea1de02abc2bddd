/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Off-CPU: one entry for each thread, from its first switch to its last. Entries are in an array,
 * indexed by the low bits of the thread's number; only threads that collide are in a hash map.
 */
#include "bpf/shared/offcpu.h"

enum {
	TASK_INTERRUPTIBLE = 0x1,
	TASK_UNINTERRUPTIBLE = 0x2,
	TASK_STOPPED = 0x4,
	TASK_TRACED = 0x8,
	TASK_DEAD = 0x80,
	TASK_FROZEN = 0x8000,

	OFF_CGROUPS_DEEP = 24, /* levels between a thread's cgroup and the root that are compared */
};

const volatile __u32 off_switch_has_state =
	0;                           /* sched_switch has the state as an argument: since 5.18 */
const volatile __u64 off_min_ns = 0; /* shorter intervals are counted, but not reported */
const volatile __u32 off_wakers = 0; /* the threads that end waits are recorded too */
const volatile __u64 off_cgroup_id =
	0; /* only threads in this cgroup and below it; 0: all threads */
const volatile __u32 off_threads_mask = 0; /* number of entries of off_threads, less one */
const volatile __u32 off_task_record = 0;  /* index of the iterator's entry of raw_records */
volatile __u64 off_since_ns = 0; /* while the iterator runs: the time since which threads without an
				    entry are considered asleep; else 0 */

/* Threads by the low bits of their numbers: the first to come gets the entry. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* a power of two; set before loading */
	__type(key, __u32);
	__type(value, struct off_thread);
} off_threads SEC(".maps");

/*
 * The owner of each entry, so that two CPUs do not assign it twice (5.10 has no compare-and-swap).
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* as many as off_threads; set before loading */
	__type(key, __u32);
	__type(value, __u32);
} off_owners SEC(".maps");

/* Threads whose array entry another thread occupies, by tid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before loading */
	__type(key, __u32);
	__type(value, struct off_thread);
} off_others SEC(".maps");

/* The content of a new entry, which is too large for the BPF stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct off_thread);
} off_none SEC(".maps");

/* True if the task is in the selected cgroup or below it. */
static __noinline int off_in_cgroup(struct task_struct *task)
{
	struct cgroup *group = BPF_CORE_READ(task, cgroups, dfl_cgrp);

	for (int i = 0; i < OFF_CGROUPS_DEEP && group; i++) {
		if (BPF_CORE_READ(group, kn, id) == off_cgroup_id)
			return 1;
		group = BPF_CORE_READ(group, self.parent, cgroup);
	}
	return 0;
}

/* True if a thread without an entry belongs to a profiled process. */
static __always_inline int off_is_selected(struct task_struct *task)
{
	__u32 pid = task->tgid;

	if (select_excluding_rule(pid, SELECT_NO_OFF_CPU))
		return 0;
	return !off_cgroup_id || off_in_cgroup(task);
}

static __noinline struct off_thread *off_find_other(__u32 tid)
{
	return bpf_map_lookup_elem(&off_others, &tid);
}

static __always_inline struct off_thread *off_find(__u32 tid)
{
	__u32 at = tid & off_threads_mask;
	struct off_thread *t = bpf_map_lookup_elem(&off_threads, &at);

	if (t && t->tid == tid)
		return t;
	return off_find_other(tid);
}

/*
 * Allocates an entry, whose tid is still 0. NULL if there is no room, or another CPU is allocating
 * it.
 */
static __always_inline struct off_thread *off_new(__u32 tid)
{
	__u32 at = tid & off_threads_mask, zero = 0, *owner;
	const struct off_thread *none = bpf_map_lookup_elem(&off_none, &zero);

	if (!none)
		return 0;
	if (!bpf_map_update_elem(&off_owners, &at, &tid, BPF_NOEXIST)) {
		bpf_map_update_elem(&off_threads, &at, none, BPF_ANY);
		return bpf_map_lookup_elem(&off_threads, &at);
	}
	owner = bpf_map_lookup_elem(&off_owners, &at);
	if (owner && *owner == tid)
		return 0;
	bpf_map_update_elem(&off_others, &tid, none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&off_others, &tid);
}

static __noinline struct off_thread *off_add(struct counters *c, struct task_struct *task)
{
	struct off_thread *t;

	if (!off_is_selected(task))
		return 0;
	t = off_new(task->pid);
	if (!t) {
		c->n[COUNTER_OFF_NO_ROOM]++;
		return 0;
	}
	t->pid = task->tgid;
	t->tid = task->pid;
	return t;
}

static __noinline int off_remove(__u32 tid)
{
	__u32 at = tid & off_threads_mask;
	struct off_thread *t = bpf_map_lookup_elem(&off_threads, &at);

	if (!t || t->tid != tid)
		return bpf_map_delete_elem(&off_others, &tid);
	t->tid = 0;
	return bpf_map_delete_elem(&off_owners, &at);
}

static __always_inline __u8 off_state_of(__u32 state)
{
	if (state & TASK_TRACED)
		return OFF_TRACED;
	if (state & TASK_STOPPED)
		return OFF_STOPPED;
	if (state & TASK_FROZEN)
		return OFF_FROZEN;
	if (state & TASK_UNINTERRUPTIBLE)
		return OFF_DISK;
	if (state & TASK_INTERRUPTIBLE)
		return OFF_SLEEPING;
	return OFF_PREEMPTED;
}

static __always_inline __u32 task_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return (__u32)((struct task_struct___state *)task)->state;
}
