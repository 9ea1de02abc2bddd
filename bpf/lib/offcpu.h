/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Where threads wait, and for how long: the programs at the scheduler's tracepoints,
 * loaded only when that is wanted. Part of the object of sample.bpf.c, whose maps and
 * walk they share. bpf/shared/offcpu.h says what is counted.
 *
 * A thread's entry is there from its first switch to its last, so a switch
 * costs two look-ups; they are cheap, since nearly all threads have their entry where
 * their number says. The time is the scheduler's own, where that can be read. It is touched by one
 * CPU at a time: where the thread is switched out, where it is woken, where it is switched in.
 * Kernel threads are left out.
 */
#include "bpf/shared/offcpu.h"

enum {
	TASK_INTERRUPTIBLE = 0x1,
	TASK_UNINTERRUPTIBLE = 0x2,
	TASK_STOPPED = 0x4,
	TASK_TRACED = 0x8,
	TASK_DEAD = 0x80,
	TASK_FROZEN = 0x8000,

	OFF_PERIOD_NS = 100000000, /* in which a CPU may take so many stacks: */
	OFF_PERIOD_STACKS = 96,
	OFF_STORM = 2000, /* switches in one: fewer stacks in the next, as switches cost by
			     themselves */
	OFF_STORM_STACKS = 16,
	OFF_THRESHOLD_NS = 1024, /* the lowest */
	OFF_THRESHOLD_MAX_NS = 1 << 30,
	OFF_RELAX_MAX = 2,             /* halvings of it in a period */
	OFF_TYPICAL_NEW_NS = 64000000, /* where nothing is known */
	OFF_TYPICAL_FIRST_NS = 1000000,
	OFF_SHIFT_MAX = 15, /* it has 4 bits, and turns have 16 */
	OFF_PLACES_TRIED = 8,
	OFF_FADE_SHIFT = 4,
	OFF_LONGER = 16, /* than so many typical ones: stands for itself */

	OFF_SYNC_NS = 100000000, /* so often the two clocks are compared; a larger step is one: */
	OFF_STEP_NS = 1000000,
	OFF_DRIFT_SHIFT = 3,

	OFF_CGROUPS_DEEP = 24, /* below the root, looked at */
};

/* The golden ratio: bits of a product depend on all below. */
#define OFF_MIX 0x9e3779b97f4a7c15ULL

const volatile __u32 off_switch_has_state = 0; /* sched_switch tells the state: since 5.18 */
const volatile __u32 off_queue_clock = 0;      /* se.cfs_rq and sched_info are there */
const volatile __u64 off_min_ns = 0;           /* shorter ones are not told */
const volatile __u64 off_cgroup_id = 0;        /* of threads in this one and below it; 0: of all */
const volatile __u32 off_threads_mask = 0;     /* of off_threads: its entries less one */
const volatile __u32 off_task_record = 0;      /* the iterator's of raw_records */
volatile __u64 off_since_ns = 0; /* threads asleep are noted as off since then; 0: not now */

/* Threads by the low bits of their numbers: the first that comes has the entry. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* a power of two: set before loading */
	__type(key, __u32);
	__type(value, struct off_thread);
} off_threads SEC(".maps");

/* Whose each of them is, so that two CPUs do not give it away twice (5.10 can't compare and swap).
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* as many: set before loading */
	__type(key, __u32);
	__type(value, __u32);
} off_owners SEC(".maps");

/* The others, by tid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before loading */
	__type(key, __u32);
	__type(value, struct off_thread);
} off_others SEC(".maps");

/* What a new entry is: too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct off_thread);
} off_none SEC(".maps");

/* How many stacks a CPU has taken lately, and so which intervals are worth one. */
struct off_cpu {
	__u64 threshold_ns; /* intervals typically shorter are thinned */
	__u64 period_end_ns;
	__u64 synced_at, ahead_ns; /* by its run queue's clock; how far ours is ahead of that */
	__u32 n_taken, n_out;      /* stacks, and all intervals, of this period */
	__u32 is_storm, reserved;  /* the one before had OFF_STORM intervals, by its length */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct off_cpu);
} off_cpus SEC(".maps");

static __always_inline struct off_cpu *off_cpu_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&off_cpus, &zero);
}

/* The run queue's clock was read a moment ago: the least that it was behind is the truth. */
static __always_inline void off_sync(struct off_cpu *cpu, __u64 clock)
{
	__u64 ahead = bpf_ktime_get_ns() - clock, more = ahead - cpu->ahead_ns;

	if (more < OFF_STEP_NS)
		cpu->ahead_ns += more >> OFF_DRIFT_SHIFT;
	else
		cpu->ahead_ns = ahead;
	cpu->synced_at = clock;
}

/* The time of a switch: reading a clock is a third of what all the rest costs. */
static __always_inline __u64 off_now(struct off_cpu *cpu, struct task_struct *task)
{
	__u64 clock;

	if (!off_queue_clock)
		return bpf_ktime_get_ns();
	clock = task->se.cfs_rq->rq->clock;
	if (clock - cpu->synced_at >= OFF_SYNC_NS)
		off_sync(cpu, clock);
	return clock + cpu->ahead_ns;
}

/* In the chosen cgroup, or in one below it? */
static __noinline int off_in_cgroup(struct task_struct *task)
{
	struct cgroup *group = BPF_CORE_READ(task, cgroups, dfl_cgrp);

	for (int i = 0; i < OFF_CGROUPS_DEEP && group; i++) {
		if (BPF_CORE_READ(group, kn, id) == off_cgroup_id)
			return 1;
		group = BPF_CORE_READ(group, self.parent, cgroup);
	}
	return 0;
}

/* Of a thread that is not known yet: is it one of those that are told? */
static __always_inline int off_is_wanted(struct task_struct *task)
{
	__u32 pid = task->tgid;

	if (want_targets_only && !bpf_map_lookup_elem(&targets, &pid))
		return 0;
	return !off_cgroup_id || off_in_cgroup(task);
}

/* ---- a thread's entry ---------------------------------------------------------- */

static __noinline struct off_thread *off_find_other(__u32 tid)
{
	return bpf_map_lookup_elem(&off_others, &tid);
}

static __always_inline struct off_thread *off_find(__u32 tid)
{
	__u32 at = tid & off_threads_mask;
	struct off_thread *t = bpf_map_lookup_elem(&off_threads, &at);

	if (t && t->tid == tid)
		return t;
	return off_find_other(tid);
}

/* With no thread's number; NULL: there is no room, or it is being made just now. */
static __always_inline struct off_thread *off_new(__u32 tid)
{
	__u32 at = tid & off_threads_mask, zero = 0, *owner;
	const struct off_thread *none = bpf_map_lookup_elem(&off_none, &zero);

	if (!none)
		return 0;
	if (!bpf_map_update_elem(&off_owners, &at, &tid, BPF_NOEXIST)) {
		bpf_map_update_elem(&off_threads, &at, none, BPF_ANY);
		return bpf_map_lookup_elem(&off_threads, &at);
	}
	owner = bpf_map_lookup_elem(&off_owners, &at);
	if (owner && *owner == tid)
		return 0;
	bpf_map_update_elem(&off_others, &tid, none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&off_others, &tid);
}

static __noinline struct off_thread *off_add(struct counters *c, struct task_struct *task)
{
	struct off_thread *t;

	if (!off_is_wanted(task))
		return 0;
	t = off_new(task->pid);
	if (!t) {
		c->n[COUNTER_OFF_NO_ROOM]++;
		return 0;
	}
	t->pid = task->tgid;
	t->tid = task->pid;
	return t;
}

static __noinline int off_remove(__u32 tid)
{
	__u32 at = tid & off_threads_mask;
	struct off_thread *t = bpf_map_lookup_elem(&off_threads, &at);

	if (!t || t->tid != tid)
		return bpf_map_delete_elem(&off_others, &tid);
	t->tid = 0;
	return bpf_map_delete_elem(&off_owners, &at);
}

static __always_inline __u8 off_state_of(__u32 state)
{
	if (state & TASK_TRACED)
		return OFF_TRACED;
	if (state & TASK_STOPPED)
		return OFF_STOPPED;
	if (state & TASK_FROZEN)
		return OFF_FROZEN;
	if (state & TASK_UNINTERRUPTIBLE)
		return OFF_DISK;
	if (state & TASK_INTERRUPTIBLE)
		return OFF_SLEEPING;
	return OFF_PREEMPTED;
}

static __always_inline __u32 task_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return (__u32)((struct task_struct___state *)task)->state;
}

/* ---- which stacks are taken -------------------------------------------------- */

static __always_inline void *saved_registers_of(struct task_struct *task)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (void *)bpf_task_pt_regs(task);
	return task->stack + KERNEL_STACK_BYTES - sizeof(struct user_regs);
}

/* What tells places apart, as far as that costs nothing: a function's waits have the same
 * stack pointer, whoever is called from there. Different places may well be taken for one.
 */
static __always_inline __u64 off_place_hash(struct task_struct *task)
{
	__u64 sp = 0, call = 0;

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)) {
		struct pt_regs *regs = (void *)bpf_task_pt_regs(task);

		sp = regs->sp;
		call = regs->orig_ax;
	} else {
		struct user_regs *regs = saved_registers_of(task);

		bpf_probe_read_kernel(&sp, sizeof(sp), &regs->rsp);
	}
	return (sp ^ call << 32) * OFF_MIX;
}

/*
 * Where the current thread waits: one of its places but the first, which is for being preempted. If
 * it waits in more than there is room for, some share one.
 */
static __noinline int off_find_place(struct off_thread *t, struct task_struct *task)
{
	__u64 hash = off_place_hash(task);
	__u32 home = hash >> 60, at;
	__u16 tag = (hash >> 48 & 0xfff) ?: 1;

	for (int i = 0; i < OFF_PLACES_TRIED; i++) {
		at = bounded_here(home + i) & (OFF_PLACES - 1);
		if (!at)
			continue;
		if (!t->places[at].tag)
			t->places[at].tag = tag;
		if (t->places[at].tag == tag)
			return at;
	}
	return home;
}

static __always_inline struct off_place *off_place(struct off_thread *t)
{
	return &t->places[bounded_here(t->place) & (OFF_PLACES - 1)];
}

static __always_inline __u64 off_typical_ns(__u32 typical)
{
	return typical ? (__u64)typical << OFF_TYPICAL_SHIFT : OFF_TYPICAL_NEW_NS;
}

/* Another interval of that place was so long: what is typical of it then. */
static __always_inline __u32 off_learned(__u32 typical, __u64 len)
{
	const __u32 first = OFF_TYPICAL_FIRST_NS >> OFF_TYPICAL_SHIFT;

	typical = typical ? typical - (typical >> OFF_FADE_SHIFT) : first;
	len >>= OFF_TYPICAL_SHIFT;
	if (len > 0xffffffff)
		len = 0xffffffff;
	return typical < len ? len : typical;
}

/* Fewer than there is room for: by so many halvings their number may have doubled. */
static __always_inline void off_relax(struct off_cpu *cpu)
{
	__u32 n = cpu->n_taken,
	      enough = cpu->is_storm ? OFF_STORM_STACKS / 4 : OFF_PERIOD_STACKS / 2;

	for (int i = 0; i < OFF_RELAX_MAX; i++) {
		if (n >= enough || cpu->threshold_ns <= OFF_THRESHOLD_NS)
			break;
		cpu->threshold_ns >>= 1;
		n = 2 * n + 1;
	}
}

/* Were switches so many, for so long? A burst is no storm, but one goes on in a short period. */
static __always_inline __u32 off_is_storm(const struct off_cpu *cpu, __u64 now)
{
	__u64 took = now + OFF_PERIOD_NS - cpu->period_end_ns;

	return (cpu->is_storm || cpu->n_out >= OFF_STORM) &&
	       cpu->n_out * (__u64)OFF_PERIOD_NS >= took * OFF_STORM;
}

/* The budget is used up, or much of it was not needed: other intervals are worth a stack now. */
static __always_inline void off_adapt(struct off_cpu *cpu, __u64 now)
{
	cpu->n_out++;
	if (now >= cpu->period_end_ns)
		off_relax(cpu);
	else if (cpu->n_taken < (cpu->is_storm ? OFF_STORM_STACKS : OFF_PERIOD_STACKS))
		return;
	else if (cpu->threshold_ns < OFF_THRESHOLD_MAX_NS)
		cpu->threshold_ns <<= 1;
	cpu->is_storm = off_is_storm(cpu, now);
	cpu->period_end_ns = now + OFF_PERIOD_NS;
	cpu->n_taken = cpu->n_out = 0;
}

/* Of 2^k intervals of the typical length, one is chosen: one step towards that k from @k. */
static __always_inline __u8 off_shift(__u8 k, __u64 typical_ns, __u64 threshold_ns)
{
	__u64 stands_for = typical_ns << (k & 31);

	if (stands_for < threshold_ns)
		return k < OFF_SHIFT_MAX ? k + 1 : k;
	return k && stands_for >> 1 >= threshold_ns ? k - 1 : k;
}

/* One of 2^k turns in a row: as many are chosen as are meant, and no pattern is followed. */
static __always_inline int off_draw(__u32 turn, __u32 seed, __u8 k)
{
	__u64 random = ((__u64)seed << 32 | turn >> (k & 31)) * OFF_MIX;

	random = (random ^ random >> 32) * OFF_MIX;
	return !((random >> 40 ^ turn) & ((1u << (k & 31)) - 1));
}

/* enum off_chosen, of one that is worth telling */
static __always_inline __u8 off_chosen_now(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > ring_wakeup_bytes ? OFF_CHOSEN_BUT
									       : OFF_CHOSEN;
}

/* enum off_chosen */
static __always_inline __u8 off_choose(struct off_cpu *cpu, struct off_thread *t, __u32 tid,
				       __u64 now)
{
	struct off_place *place = off_place(t);

	if (!cpu->threshold_ns)
		cpu->threshold_ns = off_min_ns > OFF_THRESHOLD_NS ? off_min_ns : OFF_THRESHOLD_NS;
	off_adapt(cpu, now);
	place->shift = off_shift(place->shift, off_typical_ns(place->typical), cpu->threshold_ns);
	t->shift = place->shift;
	if (!off_draw(place->turns++, tid << 4 ^ t->place, t->shift))
		return OFF_NOT_CHOSEN;
	cpu->n_taken++;
	return off_chosen_now();
}

/* ---- out ------------------------------------------------------------------------ */

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
	if (want_kernel)
		kernel_stack(ctx, w);
	if (want_user && saved_registers(w))
		user_stack(c, w, id >> 32, WALK_OFF);
	else
		send_walked(c, w);
}

/* It has ended: what was not told of it yet is. */
static __noinline int off_last(struct counters *c, struct off_thread *t, __u32 tid)
{
	struct off_last_record r = { .head = { .type = RECORD_OFF_LAST } };
	__u64 any = t->untaken_ns | t->untaken_queued_ns;

	for (int i = 0; i < OFF_PLACES; i++) {
		r.thinned_ns[i] = t->places[i].thinned_ns;
		any |= t->places[i].thinned_ns;
	}
	if (any) {
		r.head.pid = t->pid;
		r.head.tid = tid;
		r.head.time_ns = bpf_ktime_get_ns();
		r.untaken_ns = t->untaken_ns;
		r.untaken_queued_ns = t->untaken_queued_ns;
		bpf_get_current_comm(r.head.comm, sizeof(r.head.comm));
		send(c, &r, sizeof(r), BPF_RB_NO_WAKEUP);
	}
	return off_remove(tid);
}

/* ---- in ------------------------------------------------------------------------- */

/* Since when the thread that is being switched in could run, by the kernel's own account. */
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

/* When it was woken; 0: it is not known. */
static __always_inline __u64 off_wake(const struct off_thread *t, struct task_struct *task,
				      __u64 now)
{
	return off_queue_clock && !t->wake_ns ? off_woken(t, task, now) : t->wake_ns;
}

static __always_inline void off_tell(struct counters *c, struct task_struct *task,
				     const struct off_thread *t, __u8 shift, __u64 now)
{
	struct off_record r = { .head = { .type = RECORD_OFF } };

	r.head.pid = task->tgid;
	r.head.tid = task->pid;
	r.head.time_ns = t->out_ns;
	r.head.off_state = t->state;
	r.head.off_shift = shift;
	r.head.off_place = t->place;
	r.wake_ns = off_wake(t, task, now);
	r.in_ns = now;
	bpf_probe_read_kernel(r.head.comm, sizeof(r.head.comm), &task->comm);
	send(c, &r, sizeof(r), BPF_RB_NO_WAKEUP);
}

/* No stack: a long one, or the agent is far behind. */
static __always_inline void off_untaken(struct counters *c, struct task_struct *task,
					struct off_thread *t, __u64 now)
{
	__u64 wake = off_wake(t, task, now);

	c->n[COUNTER_OFF_UNTAKEN]++;
	if (!wake)
		wake = now;
	t->untaken_ns += wake - t->out_ns;
	t->untaken_queued_ns += now - wake;
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
		if (t->chosen == OFF_CHOSEN || t->asked || len >= OFF_LONG_NS)
			off_tell(c, task, t, shift, now);
		else if (!shift)
			off_untaken(c, task, t, now);
		else
			c->n[COUNTER_OFF_THINNED]++;
	}
	place->typical = off_learned(place->typical, len);
}

static __always_inline void off_in(struct counters *c, struct off_cpu *cpu,
				   struct task_struct *task, __u64 now)
{
	__u32 tid = task->pid;
	struct off_thread *t;

	if (task->flags & PF_KTHREAD)
		return;
	t = off_find(tid);
	/* how far one clock is ahead of the other is an estimate, and may have changed */
	if (t && t->out_clock)
		now = t->out_ns + (now - cpu->ahead_ns - t->out_clock);
	if (t && t->out_ns && t->out_ns < now)
		off_count(c, task, t, now);
	if (t)
		t->out_ns = t->out_clock = 0;
	else if (off_since_ns)
		off_add(c, task); /* so that it is not taken for one asleep */
}

/*
 * It has run since, and no tracepoint told when it was switched in. 6.18 leaves some out, of
 * threads that a timer wakes on a busy machine.
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
		return;
	}
	t->state = off_state_of(state);
	t->wake_ns = t->state == OFF_PREEMPTED ? now : 0;
	t->asked = 0;
	/* where it was preempted says nothing */
	t->place = t->state == OFF_PREEMPTED ? 0 : off_find_place(t, task);
	if (off_queue_clock)
		t->queued_ns = task->sched_info.run_delay;
	t->out_ns = now;
	t->out_clock = now - cpu->ahead_ns;
	t->chosen = off_choose(cpu, t, tid, now);
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

/* Only where the kernel does not keep account itself: a wake-up costs as much as a switch. */
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

/* ---- threads that sleep ------------------------------------------------------------- */

/* Note a thread that was off before we looked. It is not there: had it run meanwhile, it would be.
 */
static __noinline struct off_thread *off_note_asleep(struct task_struct *task)
{
	struct off_thread *t;

	if (!off_since_ns || task->on_cpu || !off_is_wanted(task))
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

/* The record of a sleeping thread: its registers and kernel stack; the rest is read from it. */
static __always_inline int off_fill(struct raw_record *r, struct task_struct *task,
				    const struct off_thread *t)
{
	struct user_regs regs;
	long n;

	if (bpf_probe_read_kernel(&regs, sizeof(regs), saved_registers_of(task)))
		return -1;
	n = want_kernel ? bpf_get_task_stack(task, r->kernel, sizeof(r->kernel), 0) : 0;
	r->head.type = RECORD_RAW;
	r->head.flags = RECORD_OFF_CPU | RECORD_KERNEL_MODE;
	r->head.n_kernel = r->head.n_words = n > 0 ? n / sizeof(__u64) : 0;
	r->head.pid = task->tgid;
	r->head.tid = task->pid;
	r->head.time_ns = t->out_ns;
	r->head.off_state = t->state;
	bpf_probe_read_kernel(r->head.comm, sizeof(r->head.comm), &task->comm);
	regs_copy(r->regs, &regs);
	r->fs_base = task->thread.fsbase;
	r->stack_at = regs.rsp;
	return regs.cs == USER_CS_32 ? -1 : 0;
}

/* Tells each thread's stack that is wanted: those that have slept for long, and have sent none. */
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
	if (!t || !t->out_ns || t->chosen == OFF_CHOSEN || t->asked || t->state == OFF_NEW)
		return 0;
	if (t->out_ns != off_since_ns && bpf_ktime_get_ns() - t->out_ns < OFF_LONG_NS)
		return 0;
	if (off_fill(r, task, t))
		return 0;
	t->asked = 1;
	bpf_seq_write(ctx->meta->seq, r, __builtin_offsetof(struct raw_record, stack));
	return 0;
}
