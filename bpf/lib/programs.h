/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Starts of programs: reports the identity of each, and hands the selection of a process on to its
 * children.
 */
#include "bpf/lib/newcomer.h"

static __always_inline void *saved_registers_of(struct task_struct *task)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (void *)bpf_task_pt_regs(task);
	return task->stack + KERNEL_STACK_BYTES - SAVED_REGS_BYTES;
}

/*
 * Reports the identity of a program of @pid. The kernel's side-band has the order of events but no
 * identities. The agent matches the two by time; the time of this record is later than that of the
 * side-band's event. @parent is the pid of the process that it was forked from, 0 after an exec.
 */
static __always_inline void send_program(struct task_struct *task, __u32 pid, __u32 parent)
{
	struct record_header h = { .type = RECORD_PROGRAM, .pid = pid, .tid = pid, .arg = parent };
	struct counters *c = counters_get();

	h.time_ns = bpf_ktime_get_ns();
	program_of(task, &h.program);
	bpf_probe_read_kernel(h.comm, sizeof(h.comm), &task->comm);
	if (bpf_ringbuf_output(&ring, &h, sizeof(h), BPF_RB_NO_WAKEUP) && c)
		c->n[COUNTER_PROGRAMS_LOST]++;
}

SEC("raw_tp/sched_process_exec")
int on_exec(void *ctx)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;

	select_exec(pid);
	if (!selected_only || bpf_map_lookup_elem(&selected, &pid))
		send_program((void *)bpf_get_current_task(), pid, 0);
	return 0;
}

SEC("raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	__u32 parent_pid = BPF_CORE_READ(parent, tgid), child_pid = BPF_CORE_READ(child, tgid);

	if (parent_pid == child_pid)
		return 0;
	if (!select_fork(parent_pid, child_pid, BPF_CORE_READ(child, start_boottime)))
		return 0;
	newcomer_inherit(parent, child);
	send_program(child, child_pid, parent_pid);
	return 0;
}

/* The iterator writes one record for each process. */
SEC("iter/task")
int each_program(struct bpf_iter__task *ctx)
{
	struct record_header h = { .type = RECORD_PROGRAM };
	struct task_struct *task = ctx->task;
	struct saved_regs regs = {};

	if (!task || task->pid != task->tgid)
		return 0;
	if (!(task->flags & PF_KTHREAD))
		bpf_probe_read_kernel(&regs, sizeof(regs), saved_registers_of(task));
	h.flags = is_in_exec(&regs) ? RECORD_IN_EXEC : 0;
	h.pid = h.tid = task->tgid;
	h.time_ns = bpf_ktime_get_ns();
	program_of(task, &h.program);
	bpf_probe_read_kernel(h.comm, sizeof(h.comm), &task->comm);
	bpf_seq_write(ctx->meta->seq, &h, sizeof(h));
	return 0;
}
