/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Sends the record of a sample: walked, or raw, with registers and a copy of the stack for the
 * agent to walk. Part of the object of sample.bpf.c, whose maps and constants it uses.
 */
#include "bpf/lib/fault_places.h"
#include "bpf/lib/walk_state.h"

/* Larger than the address space of a stack under the usual limits. */
#define STACK_BYTES_MAX (64ULL << 20)

static __always_inline void send(struct counters *c, void *record, __u64 len, __u64 flags)
{
	/* The agent drains the ring by a timer; it is woken only if that would be too late. */
	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > ring_wakeup_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	if (bpf_ringbuf_output(&ring, record, len, flags))
		c->n[COUNTER_LOST]++;
	else
		c->n[COUNTER_SENT]++;
}

/* Puts the context at @dst, the end of a record. Returns the number of its words. */
static __always_inline __u32 copy_context(const struct walk *w, void *dst)
{
	__u32 len =
		bounded_here((w->context.len + __builtin_offsetof(struct context, otel) + 7) & ~7U);

	if (!w->context.len || len > sizeof(w->context) ||
	    bpf_probe_read_kernel(dst, len, &w->context))
		return 0;
	return len / sizeof(__u64);
}

static __always_inline void send_walked(struct counters *c, struct walk *w)
{
	__u32 n = bounded_here(w->record.head.n_words + w->record.head.n_vm_words), len;
	void *end;

	if (n > RECORD_WORDS_MAX + VM_WORDS_MAX)
		n = RECORD_WORDS_MAX + VM_WORDS_MAX;
	end = w->record.words + n;
	/*
	 * old verifiers forget the range of a number that is spilled to the stack, but not that of
	 * a pointer
	 */
	asm volatile("" : "+r"(end));
	w->record.head.n_context = copy_context(w, end);
	n += w->record.head.n_context;
	len = bounded_here(sizeof(struct record_header) + n * sizeof(__u64));
	if (len > sizeof(w->record))
		len = sizeof(w->record);
	/* The agent reads a function that it has not seen before while it still exists. */
	send(c, &w->record, len, w->vm_is_new ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

/*
 * Returns the end of the goroutine's stack at @sp, 0 if there is none. On x86-64, the word below
 * the thread pointer leads to Go's g, which begins with the bounds of its stack.
 */
static __always_inline __u64 goroutine_end(const struct walk *w, __u64 sp)
{
	__u64 g = 0, lo_hi[2];

	if (read_user(&g, sizeof(g), w->thread_pointer - 8) || read_user(lo_hi, sizeof(lo_hi), g))
		return 0;
	return lo_hi[0] < sp && lo_hi[1] - sp < STACK_BYTES_MAX ? lo_hi[1] : 0;
}

/*
 * Returns the address up to which the stack at @sp is worth copying. The main thread's stack ends
 * at the program's arguments, that of another thread below the memory that its thread pointer leads
 * to. A goroutine's end is in its g. The end of other coroutines' stacks is not known here; memory
 * that belongs to something else may follow them.
 */
static __always_inline __u64 stack_end(const struct walk *w, __u64 sp)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u64 main = BPF_CORE_READ(task, mm, start_stack), end = goroutine_end(w, sp);

	if (end)
		return end;
	if (w->thread_pointer - sp < STACK_BYTES_MAX)
		return w->thread_pointer;
	return main - sp < STACK_BYTES_MAX ? main : sp + 2 * RAW_STACK_MAX;
}

/*
 * Copies the stack upwards from the red zone below @sp, page by page, until a page is absent or
 * beyond @end; returns the number of bytes. The red zone is included because in an epilogue, rules
 * lead to registers that were just popped from it. The page at sp may be absent if the instruction
 * that touches it first is just faulting. Less is copied while the agent lags behind, because a
 * short stack is better than none.
 */
static __always_inline __u32 copy_stack(struct raw_record *r, __u64 sp, __u64 end)
{
	__u64 at = sp - RED_ZONE;
	__u32 len = 0, n = USER_PAGE - (at & (USER_PAGE - 1)), max = RAW_STACK_MAX - USER_PAGE;

	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > ring_wakeup_bytes)
		max = RAW_STACK_SHORT - USER_PAGE;

	r->stack_at = at;
	for (int i = 0; i <= RAW_STACK_MAX / USER_PAGE; i++) {
		if (len > max || len > RAW_STACK_MAX - USER_PAGE || n > USER_PAGE)
			break;
		if (r->stack_at + len > end)
			break;
		if (!bpf_probe_read_user(r->stack + len, n, (void *)(r->stack_at + len)))
			len += n;
		else if (!len && i < 2)
			r->stack_at += n;
		else
			break;
		n = USER_PAGE;
	}
	return len;
}

/*
 * Sends up to RAW_STACK_MAX bytes of a deep stack: from the first present page at or above @at up
 * to the next absent page. Returns the address at which they end, or 0 if there is none, or if a
 * quarter of the ring is full: its room is better used for the innermost parts of other stacks.
 */
WALK_FN __u64 send_part(__u32 which, __u64 at, __u64 end)
{
	__u32 key = walk_number(which), len = 0;
	struct raw_record *r = bpf_map_lookup_elem(&raw_records, &key);

	if (!r || bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > ring_wakeup_bytes / 2)
		return 0;
	for (int i = 0; i < 2 * RAW_STACK_MAX / USER_PAGE; i++) {
		if (len > RAW_STACK_MAX - USER_PAGE || at + len >= end)
			break;
		if (!bpf_probe_read_user(r->stack + len, USER_PAGE, (void *)(at + len)))
			len += USER_PAGE;
		else if (!len)
			at += USER_PAGE;
		else
			break;
	}
	if (!len)
		return at;
	r->stack_at = at;
	r->head.stack_len = len;
	at += len;
	len = bounded_here(len);
	if (len > RAW_STACK_MAX)
		return 0;
	return bpf_ringbuf_output(&ring, r, __builtin_offsetof(struct raw_record, stack) + len,
				  BPF_RB_NO_WAKEUP)
		       ? 0
		       : at;
}

/* Sends parts of the stack from the page @at up to @end. Returns true if there were any. */
static __always_inline int send_parts(struct walk *w, struct raw_record *r, __u32 which, __u64 at,
				      __u64 end)
{
	__u64 outer = ((end + USER_PAGE - 1) & ~(USER_PAGE - 1ULL)) -
		      RAW_STACK_PARTS_OUTER * RAW_STACK_MAX;
	__u64 from = at;

	r->head = w->record.head;
	r->head.type = RECORD_STACK;
	r->head.n_words = r->head.n_kernel;
	r->head.n_vm_words = 0;
	for (int i = 0; i < RAW_STACK_PARTS && at && at < end; i++) {
		if (i == RAW_STACK_PARTS - RAW_STACK_PARTS_OUTER && at < outer)
			at = outer;
		at = send_part(which, at, end);
	}
	return at != from;
}

/*
 * Appends the frames of runtimes' lists to a stack of @len bytes; the innermost ones, if not all
 * fit. Returns the number of words.
 */
static __always_inline __u32 copy_vm_words(struct raw_record *r, struct walk *w, __u32 len)
{
	__u32 from = bounded_here(w->record.head.n_words);
	__u32 n = bounded_here(w->record.head.n_vm_words);

	if (n > RAW_VM_WORDS_MAX) {
		n = RAW_VM_WORDS_MAX;
		w->record.head.flags |= RECORD_VM_TRUNCATED;
	}
	if (from > RECORD_WORDS_MAX || len > RAW_STACK_MAX ||
	    bpf_probe_read_kernel(r->stack + len, n * sizeof(__u64), w->record.words + from))
		return 0;
	return n;
}

/*
 * True if a fault at the same place was sent raw; while the ring fills up, at any stack pointer. A
 * new program faults thousands of times before its mappings and tables are known, and a raw record
 * takes the agent as long as many walked ones. A place is remembered for 134 ms
 * (FAULT_PERIOD_SHIFT), because the page may have been dropped or mapped again.
 */
static __always_inline int raw_fault_is_known(const struct walk *w)
{
	__u32 period = 1 | w->record.head.time_ns >> FAULT_PERIOD_SHIFT << 1;
	int is_filling = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > ring_wakeup_bytes / 4;

	return fault_place_is_known(w->record.head.pid, w->record.head.arg,
				    is_filling ? 0 : w->leaf_regs[UREG_SP], period);
}

/*
 * Sends registers and a copy of the stack for the agent to walk, and the frames of runtimes' lists,
 * which would have changed by then.
 */
static __always_inline void send_raw(struct counters *c, struct walk *w, __u32 which)
{
	__u32 key = walk_number(which), len, n;
	struct raw_record *r = bpf_map_lookup_elem(&raw_records, &key);
	__u64 at, end;

	if (!r)
		return;
	if (w->record.head.flags & RECORD_FAULT && raw_fault_is_known(w)) {
		c->n[COUNTER_FAULTS_THINNED]++;
		return;
	}
	__builtin_memcpy(r->regs, w->leaf_regs, sizeof(r->regs));
	r->thread_pointer = w->thread_pointer;
	/*
	 * The mask is applied right before its use: the verifiers of 5.10 and 6.1 forget the bounds
	 * of a value that is spilled to the stack.
	 */
	bpf_probe_read_kernel(r->kernel,
			      (bounded_here(w->record.head.n_kernel) & KERNEL_FRAMES_MAX) *
				      sizeof(__u64),
			      w->record.words);
	end = stack_end(w, w->leaf_regs[UREG_SP]);
	len = copy_stack(r, w->leaf_regs[UREG_SP], end);
	at = r->stack_at + len;
	/*
	 * The parts overwrite @r, so the stack is copied again after them. No parts are sent for a
	 * thread that waits: the agent can still read its stack later.
	 */
	if (which != WALK_OFF && len && !(at & (USER_PAGE - 1)) && send_parts(w, r, which, at, end))
		len = copy_stack(r, w->leaf_regs[UREG_SP], end);
	n = copy_vm_words(r, w, bounded_here(len));
	r->head = w->record.head;
	r->head.type = RECORD_RAW;
	r->head.n_words = w->record.head.n_kernel;
	r->head.n_vm_words = n;
	r->head.stack_len = len;
	len = bounded_here(len);
	n = bounded_here(n);
	if (len > RAW_STACK_MAX || n > RAW_VM_WORDS_MAX)
		return;
	len += n * sizeof(__u64);
	n = copy_context(w, r->stack + len);
	r->head.n_context = n;
	len += n * sizeof(__u64);
	c->n[COUNTER_SENT_RAW]++;
	/*
	 * The agent is woken at once, so that it reads memory beyond the copy before the process
	 * changes it.
	 */
	send(c, r, __builtin_offsetof(struct raw_record, stack) + len, BPF_RB_FORCE_WAKEUP);
}
