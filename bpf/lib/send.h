/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Sends the record of a sample: walked, or raw, with registers and a copy of the stack for the
 * agent to walk. Part of the object of sample.bpf.c, whose maps and constants it uses.
 */
#include "bpf/lib/fault_places.h"
#include "bpf/lib/walk_state.h"

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

static __always_inline void send_walked(struct counters *c, struct walk *w)
{
	__u32 n = w->record.head.n_words + w->record.head.n_vm_words;

	if (n > RECORD_WORDS_MAX + VM_WORDS_MAX)
		n = RECORD_WORDS_MAX + VM_WORDS_MAX;
	/* The agent reads a function that it has not seen before while it still exists. */
	send(c, &w->record, sizeof(struct record_header) + n * sizeof(__u64),
	     w->vm_is_new ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

/*
 * Copies the stack upwards from the red zone below @sp, page by page, until a page is absent;
 * returns the number of bytes. In an epilogue, rules lead to registers that were just popped from
 * there. The page at sp may be absent if the instruction that touches it first is just faulting.
 * Less is copied while the agent lags behind, because a short stack is better than none, and with
 * @is_short.
 */
static __always_inline __u32 copy_stack(struct raw_record *r, __u64 sp, int is_short)
{
	__u64 at = sp - RED_ZONE;
	__u32 len = 0, n = USER_PAGE - (at & (USER_PAGE - 1)), max = RAW_STACK_MAX - USER_PAGE;

	if (is_short || bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > ring_wakeup_bytes)
		max = RAW_STACK_SHORT - USER_PAGE;

	r->stack_at = at;
	for (int i = 0; i <= RAW_STACK_MAX / USER_PAGE; i++) {
		if (len > max || len > RAW_STACK_MAX - USER_PAGE || n > USER_PAGE)
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
 * Puts the frames of runtimes' lists behind a stack of @len bytes. Returns the number of words; the
 * innermost ones, if there are more than fit.
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
 * new program faults thousands of times before its mappings and tables are known, and each raw
 * record takes the agent as long as many walked ones. A place is known for an eighth of a second,
 * because the page may have been dropped or mapped again.
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
	/*
	 * The agent can read the rest of the stack of a thread that waits later; and a new process
	 * faults thousands of times before its mappings are known.
	 */
	len = copy_stack(r, w->leaf_regs[UREG_SP],
			 which == WALK_OFF || w->record.head.flags & RECORD_FAULT);
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
	c->n[COUNTER_SENT_RAW]++;
	/*
	 * The agent is woken at once: it reads what the copy does not hold before the process
	 * changes it.
	 */
	send(c, r, __builtin_offsetof(struct raw_record, stack) + len, BPF_RB_FORCE_WAKEUP);
}
