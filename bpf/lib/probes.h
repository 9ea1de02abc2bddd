/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Samples of events at a place in code: the programs at tracepoints and uprobes, loaded only if
 * such an event was requested. Part of the object of sample.bpf.c. A program is attached once and
 * runs on all CPUs; periods are counted here, per CPU.
 *
 * A tracepoint's program is never interrupted by another of its kind or by on_sample(), because the
 * kernel runs only one of these at a time on a CPU. A uprobe's program may be preempted by a thread
 * that hits a uprobe too (since 6.0), so it reserves one of the CPU's states. So does that of a
 * page fault (faults.h). The stage that ends the sample releases it.
 */

/* The events of the current period on this CPU, by number of the event. */
struct probe_counts {
	__u64 n[EVENTS_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct probe_counts);
} probe_counts SEC(".maps");

/* The states of walks that programs have reserved. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* WALK_PROBES for each CPU; set before loading */
	__type(key, __u32);
	__type(value, __u8);
} reserved_walks SEC(".maps");

/* True once per period of the event. */
static __always_inline int probe_is_due(__u32 event)
{
	__u32 zero = 0, i = event & (EVENTS_MAX - 1);
	__u64 period = event_periods[i];
	struct probe_counts *counts;

	if (period <= 1)
		return 1;
	counts = bpf_map_lookup_elem(&probe_counts, &zero);
	if (!counts || ++counts->n[i] < period)
		return 0;
	counts->n[i] = 0;
	return 1;
}

/* True if the event becomes a sample. */
static __always_inline int probe_begin(struct counters *c, __u32 event, __u32 pid)
{
	c->n[COUNTER_SAMPLES]++;
	return !select_excludes(c, pid, SELECT_NO_CPU) && probe_is_due(event);
}

SEC("tracepoint")
int on_tracepoint(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 pid = id >> 32, event = event_number(ctx, event_of_tracepoint);
	struct counters *c = counters_get();
	struct walk *w = walk_get(WALK_CPU);

	if (!c || !w || !probe_begin(c, event, pid))
		return 0;
	record_begin(w, id);
	w->record.head.event = event;
	w->record.head.flags |= RECORD_KERNEL_MODE;
	if (collect_kernel)
		kernel_stack(ctx, w);
	if (!pid || !collect_user || !saved_registers(w)) {
		send_walked(c, w);
		return 0;
	}
	if (user_stack_begin(c, w, pid))
		walk_by_program(ctx, &tracepoint_walks, c, w);
	return 0;
}

SEC("tracepoint")
int walk_tracepoint(void *ctx)
{
	struct counters *c = counters_get();
	struct walk *w = walk_get(WALK_CPU);

	if (c && w)
		user_stack_walk(ctx, &tracepoint_lists, c, w, WALK_CPU);
	return 0;
}

SEC("tracepoint")
int list_tracepoint(void *ctx)
{
	struct counters *c = counters_get();
	struct walk *w = walk_get(WALK_CPU);

	if (c && w)
		user_stack_lists(c, w, WALK_CPU);
	return 0;
}

/* Reserves a state that no other program on this CPU is using; 0 if there is none. */
static __always_inline __u32 walk_reserve(void)
{
	__u8 yes = 1;

	for (__u32 which = WALK_PROBE; which < WALK_PROBE + WALK_PROBES; which++) {
		__u32 key = walk_number(which);

		if (!bpf_map_update_elem(&reserved_walks, &key, &yes, BPF_NOEXIST))
			return which;
	}
	return 0;
}

/* The state that this thread has reserved and begun a record in; 0 if there is none. */
static __always_inline __u32 walk_reserved(void)
{
	__u32 tid = bpf_get_current_pid_tgid();

	for (__u32 which = WALK_PROBE; which < WALK_PROBE + WALK_PROBES; which++) {
		struct walk *w = walk_get(which);

		if (w && w->record.head.tid == tid)
			return which;
	}
	return 0;
}

/* Call it in the stage that ends the sample. */
static __always_inline void walk_release(__u32 which)
{
	struct walk *w = walk_get(which);
	__u32 key = walk_number(which);

	if (w)
		w->record.head.tid = 0;
	bpf_map_delete_elem(&reserved_walks, &key);
}

static __always_inline void uprobe_sample(struct user_regs *ctx, struct counters *c, __u32 event,
					  __u32 which)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct walk *w = walk_get(which);
	int is_32bit;

	if (!w)
		return;
	record_begin(w, id);
	w->record.head.event = event;
	is_32bit = mode_is_32bit(regs_mode(ctx));
	if (is_32bit)
		walk_fail(w, WALK_ERR_COMPAT_32BIT);
	if (is_32bit || !collect_user) {
		send_walked(c, w);
		return;
	}
	regs_copy(w->leaf_regs, ctx);
	if (user_stack_begin(c, w, id >> 32))
		walk_by_program(ctx, &uprobe_walks, c, w);
}

SEC("uprobe")
int on_uprobe(struct user_regs *ctx)
{
	__u32 event = event_number(ctx, event_of_uprobe), which;
	struct counters *c = counters_get();

	if (!c || !probe_begin(c, event, bpf_get_current_pid_tgid() >> 32))
		return 0;
	which = walk_reserve();
	if (!which) {
		c->n[COUNTER_LOST]++;
		return 0;
	}
	uprobe_sample(ctx, c, event, which);
	walk_release(which);
	return 0;
}

SEC("uprobe")
int walk_uprobe(void *ctx)
{
	__u32 which = walk_reserved();
	struct counters *c = counters_get();
	struct walk *w = walk_get(which);

	if (!which)
		return 0;
	if (c && w)
		user_stack_walk(ctx, &uprobe_lists, c, w, which);
	walk_release(which);
	return 0;
}

SEC("uprobe")
int list_uprobe(void *ctx)
{
	__u32 which = walk_reserved();
	struct counters *c = counters_get();
	struct walk *w = walk_get(which);

	if (!which)
		return 0;
	if (c && w)
		user_stack_lists(c, w, which);
	walk_release(which);
	return 0;
}
