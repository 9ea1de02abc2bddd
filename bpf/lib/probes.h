/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Samples of what happens at a place: the programs at tracepoints and at uprobes, loaded only
 * when such an event is wanted. Part of the object of sample.bpf.c. A program is attached
 * once and runs on all CPUs; periods are counted here, on each CPU.
 *
 * A tracepoint's program is never interrupted by another of its kind or by on_sample(): the
 * kernel lets only one of these run on a CPU at a time. A uprobe's may be preempted by a
 * thread that meets a uprobe too (since 6.0), so it takes one of the CPU's states for itself.
 */

/* One period's events so far on this CPU. */
struct probe_counts {
	__u64 n[EVENTS_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct probe_counts);
} probe_counts SEC(".maps");

/* The states of walks that a uprobe's program is using. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* WALK_UPROBES for each CPU: set before loading */
	__type(key, __u32);
	__type(value, __u8);
} uprobe_walks SEC(".maps");

/* Has the event happened often enough for a sample? */
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

/* Is it a sample? Then it is begun. */
static __always_inline int probe_begin(struct counters *c, __u32 event, __u32 pid)
{
	c->n[COUNTER_SAMPLES]++;
	if (want_targets_only && !bpf_map_lookup_elem(&targets, &pid)) {
		c->n[COUNTER_FILTERED]++;
		return 0;
	}
	return probe_is_due(event);
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
	if (want_kernel)
		kernel_stack(ctx, w);
	if (!pid || !want_user || !saved_registers(w)) {
		send_walked(c, w);
		return 0;
	}
	user_stack(c, w, pid, WALK_CPU);
	return 0;
}

/* A state that nobody else on this CPU is using; 0: there is none. */
static __always_inline __u32 uprobe_take_walk(void)
{
	__u8 yes = 1;

	for (__u32 which = WALK_UPROBE; which < WALK_UPROBE + WALK_UPROBES; which++) {
		__u32 key = walk_number(which);

		if (!bpf_map_update_elem(&uprobe_walks, &key, &yes, BPF_NOEXIST))
			return which;
	}
	return 0;
}

static __always_inline void uprobe_sample(struct user_regs *ctx, struct counters *c, __u32 event,
					  __u32 which)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct walk *w = walk_get(which);

	if (!w)
		return;
	record_begin(w, id);
	w->record.head.event = event;
	if (ctx->cs == USER_CS_32)
		walk_fail(w, WALK_ERR_COMPAT_32BIT);
	if (ctx->cs == USER_CS_32 || !want_user) {
		send_walked(c, w);
		return;
	}
	regs_copy(w->leaf_regs, ctx);
	user_stack(c, w, id >> 32, which);
}

SEC("uprobe")
int on_uprobe(struct user_regs *ctx)
{
	__u32 event = event_number(ctx, event_of_uprobe), which, key;
	struct counters *c = counters_get();

	if (!c || !probe_begin(c, event, bpf_get_current_pid_tgid() >> 32))
		return 0;
	which = uprobe_take_walk();
	if (!which) {
		c->n[COUNTER_LOST]++;
		return 0;
	}
	uprobe_sample(ctx, c, event, which);
	key = walk_number(which);
	bpf_map_delete_elem(&uprobe_walks, &key);
	return 0;
}
