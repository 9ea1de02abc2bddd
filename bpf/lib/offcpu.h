/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Where threads wait, and for how long: the programs at the scheduler's tracepoints, loaded only
 * with --off-cpu or --wall. Part of the object of sample.bpf.c, whose maps and walk they share;
 * bpf/shared/offcpu.h explains the estimate.
 *
 * A thread's entry exists from its first switch to its last, so a switch costs two look-ups, which
 * are cheap, since nearly all threads find their entry at the index that their number gives. An
 * entry is touched by one CPU at a time: where the thread is switched out, woken or switched in.
 * Kernel threads are not profiled.
 */
#include "bpf/lib/offcpu_account.h"
#include "bpf/lib/offcpu_iter.h"

static __always_inline void off_stack(void *ctx, struct counters *c, struct off_thread *t)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct walk *w = walk_get(WALK_OFF);

	if (!w)
		return;
	record_begin(w, id);
	w->record.head.time_ns = t->out_ns;
	w->record.head.off_state = t->state;
	w->record.head.flags = RECORD_OFF_CPU | RECORD_KERNEL_MODE;
	c->n[COUNTER_OFF_STACKS]++;
	if (collect_kernel)
		kernel_stack(ctx, w);
	if (!collect_user || !saved_registers(w))
		send_walked(c, w);
	else if (user_stack_begin(c, w, id >> 32))
		walk_by_program(ctx, &switch_walks, c, w);
}

/*
 * The thread has exited: sends the sums that have not been reported. The caller frees the entry,
 * because a chain of calls from here would need too much stack for verifiers before 6.8.
 */
static __noinline int off_last(struct counters *c, struct off_thread *t, __u32 tid)
{
	struct off_last_record r = { .head = { .type = RECORD_OFF_LAST } };
	__u64 any = t->unsampled_ns | t->unsampled_queued_ns;

	for (int i = 0; i < OFF_PLACES; i++) {
		r.thinned_ns[i] = t->places[i].thinned_ns;
		any |= t->places[i].thinned_ns;
	}
	if (any) {
		r.head.pid = t->pid;
		r.head.tid = tid;
		r.head.time_ns = bpf_ktime_get_ns();
		program_of((void *)bpf_get_current_task(), &r.head.program);
		r.unsampled_ns = t->unsampled_ns;
		r.unsampled_queued_ns = t->unsampled_queued_ns;
		bpf_get_current_comm(r.head.comm, sizeof(r.head.comm));
		send(c, &r, sizeof(r), BPF_RB_NO_WAKEUP);
	}
	return 0;
}

static __always_inline void off_in(struct counters *c, struct off_cpu *cpu,
				   struct task_struct *task, __u64 now)
{
	__u32 tid = task->pid;
	struct off_thread *t;

	if (task->flags & PF_KTHREAD)
		return;
	t = off_find(tid);
	/* The offset between the two clocks is an estimate that may have changed in between. */
	if (t && t->out_clock)
		now = t->out_ns + (now - cpu->ahead_ns - t->out_clock);
	if (t && t->out_ns && t->out_ns < now)
		off_count(c, task, t, now);
	if (t)
		t->out_ns = t->out_clock = 0;
	else if (off_since_ns)
		off_add(c, task); /* else the iterator reports it as asleep since the start */
}

/*
 * The thread has run since, but no tracepoint reported that it was switched in. Linux 6.18 omits
 * some, of threads that a timer wakes on a busy machine.
 */
static __noinline int off_missed(struct counters *c, struct task_struct *task, struct off_thread *t,
				 __u64 now)
{
	__u64 len = now - t->out_ns, until;

	if (off_queue_clock && t->out_clock) {
		until = task->sched_info.last_arrival - t->out_clock;
		if (until < len)
			len = until;
	}
	off_count(c, task, t, t->out_ns + len);
	return 0;
}

static __always_inline void off_out(void *ctx, struct counters *c, struct off_cpu *cpu,
				    struct task_struct *task, __u32 state, __u64 now)
{
	__u32 tid = task->pid;
	struct off_thread *t;

	if (task->flags & PF_KTHREAD)
		return;
	t = off_find(tid);
	if (!t)
		t = off_add(c, task);
	if (!t)
		return;
	if (t->out_ns && t->out_ns < now)
		off_missed(c, task, t, now);
	if (state & TASK_DEAD) {
		off_last(c, t, tid);
		off_remove(tid);
		return;
	}
	t->state = off_state_of(state);
	t->wake_ns = t->state == OFF_PREEMPTED ? now : 0;
	t->reported = t->is_woken = 0;
	/* The place of a preemption carries no information. */
	t->place = t->state == OFF_PREEMPTED ? 0 : off_find_place(t, task);
	if (off_queue_clock)
		t->queued_ns = task->sched_info.run_delay;
	t->out_ns = now;
	t->out_clock = now - cpu->ahead_ns;
	t->chosen = off_choose(cpu, t, tid, now);
	/* rules may exclude a process whose threads are known already */
	if (t->chosen == OFF_CHOSEN && select_excluding_rule(task->tgid, SELECT_NO_OFF_CPU))
		t->chosen = OFF_NOT_CHOSEN;
	if (t->chosen == OFF_CHOSEN)
		off_stack(ctx, c, t);
}

SEC("tp_btf/sched_switch")
int on_switch(__u64 *ctx)
{
	__u32 preempt = ctx[0], state;
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct counters *c = counters_get();
	struct off_cpu *cpu = off_cpu_get();
	__u64 now;

	if (!c || !cpu)
		return 0;
	now = off_now(cpu, next);
	state = off_switch_has_state ? (__u32)ctx[3] : task_state(prev);
	if (next->pid)
		off_in(c, cpu, next, now);
	if (prev->pid)
		off_out(ctx, c, cpu, prev, preempt ? 0 : state, now);
	return 0;
}

SEC("tp_btf/sched_switch")
int walk_switch(__u64 *ctx)
{
	struct counters *c = counters_get();
	struct walk *w = walk_get(WALK_OFF);

	if (c && w)
		user_stack_walk(ctx, &switch_lists, c, w, WALK_OFF);
	return 0;
}

SEC("tp_btf/sched_switch")
int list_switch(__u64 *ctx)
{
	struct counters *c = counters_get();
	struct walk *w = walk_get(WALK_OFF);

	if (c && w)
		user_stack_lists(c, w, WALK_OFF);
	return 0;
}

/*
 * Attached only where the kernel's own accounting cannot be read: a wake-up costs as much as a
 * switch.
 */
SEC("tp_btf/sched_wakeup")
int on_wakeup(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	__u32 tid = task->pid;
	struct off_thread *t = off_find(tid);

	if (t && t->out_ns && !t->wake_ns)
		t->wake_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int on_wakeup_new(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct counters *c = counters_get();
	struct off_thread *t;

	if (!c || task->flags & PF_KTHREAD)
		return 0;
	t = off_find(task->pid);
	if (!t)
		t = off_add(c, task);
	if (!t)
		return 0;
	t->state = OFF_NEW;
	t->out_ns = t->wake_ns = bpf_ktime_get_ns();
	t->chosen = off_chosen_now();
	return 0;
}
