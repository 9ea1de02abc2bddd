/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Off-CPU: who ends a wait. The stack of the current thread is recorded where it wakes another one,
 * if the stack of that wait was recorded; so wakers are sampled as waits are, and a wake-up that is
 * not recorded costs one look-up. sched_waking, unlike sched_wakeup, runs in the thread that wakes
 * even if another CPU completes the wake-up. In an interrupt, the current thread is a bystander;
 * the agent recognizes that by the kernel's stack (src/symbolize/wait_frames.h).
 *
 * The tracepoint runs with interrupts disabled, like sched_switch, so both use one walk state.
 * Part of the object of sample.bpf.c; loaded only with --wakers.
 */
#include "bpf/lib/offcpu_thread.h"

static __always_inline int waking_is_recorded(const struct off_thread *t)
{
	return t && t->out_ns && !t->is_woken && t->state != OFF_PREEMPTED && t->state != OFF_NEW &&
	       (t->chosen == OFF_CHOSEN || t->reported);
}

/* Describes the waker, which is the current thread, and the wait of @t that it ends. */
static __always_inline void waker_begin(struct walk *w, const struct off_thread *t, __u64 id)
{
	struct task_struct *current = (void *)bpf_get_current_task();
	struct record_header *h = &w->record.head;
	const struct off_thread *own = off_find((__u32)id);
	__u64 last_out_ns = 0;

	record_begin(w, id);
	h->flags = RECORD_OFF_CPU | RECORD_WAKER | RECORD_KERNEL_MODE;
	if (BPF_CORE_READ(current, flags) & PF_KTHREAD)
		h->flags |= RECORD_KERNEL_THREAD;
	if (own && own->last_wake_ns > t->out_ns) {
		h->flags |= RECORD_WAKER_WAITED;
		last_out_ns = own->last_has_stack ? own->last_out_ns : 0;
	}
	h->off_state = 0;
	h->arg = WAKER_ARG(t->tid, last_out_ns);
	h->len = t->out_ns;
}

SEC("tp_btf/sched_waking")
int on_waking(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	__u64 id = bpf_get_current_pid_tgid();
	struct off_thread *t = off_find(task->pid);
	struct counters *c;
	struct walk *w;
	__u64 now;

	if (!waking_is_recorded(t))
		return 0;
	now = bpf_ktime_get_ns();
	if (now - t->out_ns < off_min_ns)
		return 0;
	c = counters_get();
	w = walk_get(WALK_OFF);
	if (!c || !w)
		return 0;
	t->is_woken = 1;
	/*
	 * The kernel's accounting may have less of the wait: from Linux 6.12 on, a thread that
	 * sleeps but stays on the run queue for a while is queued again if it is migrated then.
	 */
	t->wake_ns = now;
	c->n[COUNTER_OFF_WAKERS]++;
	waker_begin(w, t, id);
	if (collect_kernel)
		kernel_stack(ctx, w);
	if (!collect_user || !saved_registers(w))
		send_walked(c, w);
	else if (user_stack_begin(c, w, id >> 32))
		walk_by_program(ctx, &waking_walks, c, w);
	return 0;
}

SEC("tp_btf/sched_waking")
int walk_waking(__u64 *ctx)
{
	struct counters *c = counters_get();
	struct walk *w = walk_get(WALK_OFF);

	if (c && w)
		user_stack_walk(ctx, &waking_lists, c, w, WALK_OFF);
	return 0;
}

SEC("tp_btf/sched_waking")
int list_waking(__u64 *ctx)
{
	struct counters *c = counters_get();
	struct walk *w = walk_get(WALK_OFF);

	if (c && w)
		user_stack_lists(c, w, WALK_OFF);
	return 0;
}
