/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Page faults: the programs at the tracepoints page_fault_user, page_fault_kernel and
 * vm_unmapped_area, where the kernel chooses the address of a mapping; loaded only with --memory.
 * Part of the object of sample.bpf.c. Each fault of a selected process sends its stack and the
 * address of its page; the agent decides which of these faults a resident page is due to
 * (src/profiler/resident.h). The tracepoints fire before the fault is handled, so a fault that the
 * kernel retries is sent twice, and one that ends in a signal is sent too.
 *
 * The walk reads memory that may be absent, which raises a page fault within the program. The
 * kernel does not handle such a fault but lets the read fail (task->pagefault_disabled), by which
 * it is recognized. A fault may also preempt the program, so it reserves one of the CPU's states of
 * walks, which the stage that ends the sample releases.
 *
 * A program can fault faster than the agent reads. Therefore only the first fault at each place is
 * sent (fault_places.h) while a quarter of the ring is full, and always if the agent has to walk
 * the stack (send_raw()).
 */
#include "bpf/lib/fault_places.h"

struct fault {
	__u64 address;
	__u64 len;   /* of an area that is mapped */
	__u16 flags; /* of the record */
};

/*
 * True if the agent lags behind and was sent a fault of the same place. @regs: the registers at the
 * fault, in kernel memory.
 */
static __always_inline int fault_is_thinned(__u32 pid, __u64 address, const void *regs)
{
	struct user_regs at;
	__u64 sp = 0;

	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) <= ring_wakeup_bytes / 2)
		return 0;
	if (!bpf_probe_read_kernel(&at, sizeof(at), regs))
		sp = *regs_sp(&at);
	return fault_place_is_known(pid, address, sp, 0);
}

/*
 * True if the fault may make a page of the current process resident. The fields are read directly,
 * since bpf_probe_read_kernel() disables faults itself.
 */
static __always_inline int fault_counts(__u64 address)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();

	/* the upper half of the address space is the kernel's */
	return !(address >> 63) && !(task->flags & PF_KTHREAD) && !task->pagefault_disabled;
}

static __always_inline __u16 fault_flags(__u64 error)
{
	return RECORD_FAULT | (fault_of_present(error) ? RECORD_FAULT_PRESENT : 0) |
	       (fault_of_write(error) ? RECORD_FAULT_WRITE : 0);
}

/* True if the registers at the fault are the kernel's. */
static __always_inline int fault_in_kernel(const void *at)
{
	struct user_regs regs;

	return !bpf_probe_read_kernel(&regs, sizeof(regs), at) && mode_is_kernel(regs_mode(&regs));
}

/*
 * A fault in the kernel has a kernel stack that shows the system call; after one in user mode, the
 * kernel's stack shows only the exception and is omitted.
 */
static __always_inline void fault_sample(void *ctx, struct counters *c, __u32 which,
					 const struct fault *f)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct walk *w = walk_get(which);

	if (!w)
		return;
	record_begin(w, id);
	w->record.head.arg = f->address & ~(USER_PAGE - 1ULL);
	w->record.head.len = f->len;
	w->record.head.flags = f->flags;
	if (f->flags & RECORD_KERNEL_MODE && collect_kernel)
		kernel_stack(ctx, w);
	if (!collect_user || !saved_registers(w))
		send_walked(c, w);
	else if (user_stack_begin(c, w, id >> 32))
		walk_by_program(ctx, &fault_walks, c, w);
	count_time(c, w);
}

static __always_inline void fault_send(void *ctx, struct counters *c, const struct fault *f)
{
	__u32 which = walk_reserve();

	if (!which) {
		c->n[COUNTER_LOST]++;
		return;
	}
	fault_sample(ctx, c, which, f);
	walk_release(which);
}

/* True if the current process is profiled, and the event concerns its memory. */
static __always_inline int fault_begin(struct counters *c, __u32 pid, __u64 address)
{
	if (!fault_counts(address))
		return 0;
	c->n[COUNTER_SAMPLES]++;
	return !select_excludes(c, pid, SELECT_NO_CPU);
}

SEC("raw_tp")
int on_fault(struct bpf_raw_tracepoint_args *ctx)
{
	struct fault f = { .address = ctx->args[0], .flags = fault_flags(ctx->args[2]) };
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct counters *c = counters_get();

	if (!c || !fault_begin(c, pid, f.address))
		return 0;
	if (fault_is_thinned(pid, f.address, (void *)ctx->args[1])) {
		c->n[COUNTER_FAULTS_THINNED]++;
		return 0;
	}
	if (fault_in_kernel((void *)ctx->args[1]))
		f.flags |= RECORD_KERNEL_MODE;
	fault_send(ctx, c, &f);
	return 0;
}

/*
 * The kernel has found an area without mappings, so the pages that were in it before are gone. The
 * area may be larger than the mapping that follows, and the address may be an error code.
 */
SEC("raw_tp/vm_unmapped_area")
int on_map(struct bpf_raw_tracepoint_args *ctx)
{
	struct vm_unmapped_area_info *info = (void *)ctx->args[1];
	struct fault f = { .address = ctx->args[0],
			   .len = BPF_CORE_READ(info, length),
			   .flags = RECORD_MAPPED | RECORD_KERNEL_MODE };
	struct counters *c = counters_get();

	if (c && fault_begin(c, bpf_get_current_pid_tgid() >> 32, f.address))
		fault_send(ctx, c, &f);
	return 0;
}

SEC("raw_tp")
int walk_fault(void *ctx)
{
	__u32 which = walk_reserved();
	struct counters *c = counters_get();
	struct walk *w = walk_get(which);

	if (!which)
		return 0;
	if (c && w) {
		user_stack_walk(ctx, &fault_lists, c, w, which);
		count_time(c, w);
	}
	walk_release(which);
	return 0;
}

SEC("raw_tp")
int list_fault(void *ctx)
{
	__u32 which = walk_reserved();
	struct counters *c = counters_get();
	struct walk *w = walk_get(which);

	if (!which)
		return 0;
	if (c && w) {
		user_stack_lists(c, w, which);
		count_time(c, w);
	}
	walk_release(which);
	return 0;
}
