/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Off-CPU: an iterator over all threads, which the agent reads to learn about threads that sleep
 * for long: they produce no event. It reports the registers and kernel stack of each thread that
 * has been off the CPU for OFF_LONG_NS without a stack; the agent reads the user stack from the
 * process.
 */
#include "bpf/lib/offcpu_choice.h"

/*
 * Adds an entry for a thread that was asleep before profiling began: if it had run since, it would
 * have one.
 */
static __noinline struct off_thread *off_note_asleep(struct task_struct *task)
{
	struct off_thread *t;

	if (!off_since_ns || task->on_cpu || !off_is_selected(task))
		return 0;
	t = off_new(task->pid);
	if (!t)
		return 0;
	t->out_ns = off_since_ns;
	t->queued_ns = off_queue_clock ? task->sched_info.run_delay : 0;
	t->state = off_state_of(task_state(task));
	if (t->state == OFF_PREEMPTED)
		t->wake_ns = off_since_ns;
	t->pid = task->tgid;
	t->tid = task->pid;
	return t;
}

/* Fills the record of a sleeping thread: its registers and its kernel stack. Returns 0 or -1. */
static __always_inline int off_fill(struct raw_record *r, struct task_struct *task,
				    const struct off_thread *t)
{
	struct saved_regs regs;
	long n;

	if (bpf_probe_read_kernel(&regs, sizeof(regs), saved_registers_of(task)))
		return -1;
	n = collect_kernel ? bpf_get_task_stack(task, r->kernel, sizeof(r->kernel), 0) : 0;
	r->head.type = RECORD_RAW;
	r->head.flags = RECORD_OFF_CPU | RECORD_KERNEL_MODE;
	r->head.n_kernel = r->head.n_words = n > 0 ? n / sizeof(__u64) : 0;
	r->head.pid = task->tgid;
	r->head.tid = task->pid;
	r->head.time_ns = t->out_ns;
	program_of(task, &r->head.program);
	r->head.off_state = t->state;
	bpf_probe_read_kernel(r->head.comm, sizeof(r->head.comm), &task->comm);
	regs_copy(r->regs, &regs.user);
	r->thread_pointer = task->ARCH_THREAD_POINTER;
	r->stack_at = *regs_sp(&regs.user);
	return mode_is_32bit(regs_mode(&regs.user)) ? -1 : 0;
}

/* Reports each thread that has slept for long and has sent no stack. */
SEC("iter/task")
int off_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u32 key = off_task_record, tid;
	struct raw_record *r = bpf_map_lookup_elem(&raw_records, &key);
	struct off_thread *t;

	if (!task || !r || task->flags & PF_KTHREAD || !task->mm)
		return 0;
	tid = task->pid;
	t = off_find(tid);
	if (!t)
		t = off_note_asleep(task);
	if (!t || !t->out_ns || t->chosen == OFF_CHOSEN || t->reported || t->state == OFF_NEW)
		return 0;
	if (t->out_ns != off_since_ns && bpf_ktime_get_ns() - t->out_ns < OFF_LONG_NS)
		return 0;
	if (off_fill(r, task, t))
		return 0;
	t->reported = 1;
	bpf_seq_write(ctx->meta->seq, r, __builtin_offsetof(struct raw_record, stack));
	return 0;
}
