/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Off-CPU: accounts an interval when it ends: reported on its own, added to its place's sum, or
 * counted as too short.
 */
#include "bpf/lib/offcpu_choice.h"

enum {
	OFF_LONGER = 16, /* an interval that is this many times as long as its place's typical one
			    represents only itself */
};

/*
 * The time since which the thread that is being switched in could run, by the kernel's accounting.
 */
static __always_inline __u64 off_woken(const struct off_thread *t, struct task_struct *task,
				       __u64 now)
{
	__u64 queued = task->sched_info.run_delay - t->queued_ns;
	__u64 since = task->sched_info.last_queued;
	__u64 clock = task->se.cfs_rq->rq->clock;

	if (since && clock > since)
		queued += clock - since;
	return queued < now - t->out_ns ? now - queued : t->out_ns;
}

/* The time of the wake-up; 0 if it is not known. */
static __always_inline __u64 off_wake(const struct off_thread *t, struct task_struct *task,
				      __u64 now)
{
	return off_queue_clock && !t->wake_ns ? off_woken(t, task, now) : t->wake_ns;
}

/* Not inlined, because the record would need stack in the chain of the walk. */
static __noinline int off_send(struct counters *c, struct task_struct *task,
			       const struct off_thread *t, __u8 shift, __u64 now)
{
	struct off_record r = { .head = { .type = RECORD_OFF } };

	r.head.pid = task->tgid;
	r.head.tid = task->pid;
	r.head.time_ns = t->out_ns;
	program_of(task, &r.head.program);
	r.head.off_state = t->state;
	r.head.off_shift = shift;
	r.head.off_place = t->place;
	r.wake_ns = off_wake(t, task, now);
	r.in_ns = now;
	bpf_probe_read_kernel(r.head.comm, sizeof(r.head.comm), &task->comm);
	send(c, &r, sizeof(r), BPF_RB_NO_WAKEUP);
	return 0;
}

/*
 * Adds a long interval without a stack to the thread's sums: it was not drawn, or the agent lags
 * behind.
 */
static __always_inline void off_add_unsampled(struct counters *c, struct task_struct *task,
					      struct off_thread *t, __u64 now)
{
	__u64 wake = off_wake(t, task, now);

	c->n[COUNTER_OFF_UNSAMPLED]++;
	if (!wake)
		wake = now;
	t->unsampled_ns += wake - t->out_ns;
	t->unsampled_queued_ns += now - wake;
}

/* Notes the wait that has ended, for the wakers that follow from it. */
static __always_inline void off_note_wait(struct off_thread *t, struct task_struct *task, __u64 now)
{
	if (!off_wakers || t->state == OFF_PREEMPTED || t->state == OFF_NEW)
		return;
	t->last_out_ns = t->out_ns;
	t->last_wake_ns = off_wake(t, task, now) ?: now;
	t->last_has_stack = t->chosen == OFF_CHOSEN || t->reported;
}

static __always_inline void off_count(struct counters *c, struct task_struct *task,
				      struct off_thread *t, __u64 now)
{
	__u64 len = now - t->out_ns;
	struct off_place *place = off_place(t);
	__u8 is_long = len >= OFF_LONG_NS || len >= off_typical_ns(place->typical) * OFF_LONGER;
	__u8 shift = is_long ? 0 : t->shift & 31;

	c->n[COUNTER_OFF_INTERVALS]++;
	if (len < off_min_ns) {
		c->n[COUNTER_OFF_SHORT]++;
		c->n[COUNTER_OFF_SHORT_NS] += len;
	} else {
		if (shift)
			place->thinned_ns += len;
		if (t->chosen == OFF_CHOSEN || t->reported || len >= OFF_LONG_NS)
			off_send(c, task, t, shift, now);
		else if (!shift)
			off_add_unsampled(c, task, t, now);
		else
			c->n[COUNTER_OFF_THINNED]++;
	}
	place->typical = off_next_typical(place->typical, len);
	off_note_wait(t, task, now);
}
