/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Off-CPU: chooses the intervals whose stacks are recorded. Each CPU has a budget of
 * OFF_PERIOD_STACKS per OFF_PERIOD_NS. If it is used up, the threshold doubles; if much of it is
 * unused, the threshold is halved. At a place whose intervals are typically shorter than the
 * threshold, one of 2^k is chosen, with k such that the chosen one represents about the threshold.
 * So places get stacks in proportion to their time, at a bounded cost.
 */
#include "bpf/lib/offcpu_clock.h"
#include "bpf/lib/offcpu_thread.h"

enum {
	OFF_PERIOD_NS = 100000000, /* a period of 0.1 s, in which a CPU takes at most as many stacks
				      as follow */
	OFF_PERIOD_STACKS = 96,
	OFF_STORM = 2000, /* switches in a period from which on fewer stacks are recorded */
	OFF_STORM_STACKS = 16,
	OFF_THRESHOLD_NS = 1024, /* the lowest threshold */
	OFF_THRESHOLD_MAX_NS = 1 << 30,
	OFF_RELAX_MAX = 2,             /* halvings of the threshold per period */
	OFF_TYPICAL_NEW_NS = 64000000, /* assumed for a place that has no interval yet */
	OFF_TYPICAL_FIRST_NS = 1000000,
	OFF_SHIFT_MAX = 15, /* off_place.shift has 4 bits and off_place.turns has 16 */
	OFF_PLACES_TRIED = 8,
	OFF_FADE_SHIFT = 4,
};

/*
 * 2^64 divided by the golden ratio: in the product each high bit depends on all lower bits of the
 * factor.
 */
#define OFF_MIX 0x9e3779b97f4a7c15ULL

/*
 * A hash of what distinguishes places at no cost: the system call, and the stack pointer, which is
 * the same for all waits of a function, whoever its callers are. Different places may have the same
 * hash.
 */
static __always_inline __u64 off_place_hash(struct task_struct *task)
{
	__u64 sp = 0, call = 0;

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)) {
		struct pt_regs *regs = (void *)bpf_task_pt_regs(task);

		sp = regs->sp;
		call = regs->ARCH_SYSCALL;
	} else {
		struct saved_regs *regs = saved_registers_of(task);

		bpf_probe_read_kernel(&sp, sizeof(sp), regs_sp(&regs->user));
	}
	return (sp ^ call << 32) * OFF_MIX;
}

/*
 * The index of the place where the current thread waits. Index 0 is for preemption. If the thread
 * waits in more places than there is room for, some share a slot.
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

/*
 * The new typical length of a place after an interval of @len ns: a maximum that decays by a
 * sixteenth per interval.
 */
static __always_inline __u32 off_next_typical(__u32 typical, __u64 len)
{
	const __u32 first = OFF_TYPICAL_FIRST_NS >> OFF_TYPICAL_SHIFT;

	typical = typical ? typical - (typical >> OFF_FADE_SHIFT) : first;
	len >>= OFF_TYPICAL_SHIFT;
	if (len > 0xffffffff)
		len = 0xffffffff;
	return typical < len ? len : typical;
}

/*
 * Halves the threshold while half of the budget is unused: each halving may double the number of
 * stacks.
 */
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

/*
 * True in a storm of switches. A burst does not begin one, but a storm continues even in a period
 * that ended early.
 */
static __always_inline __u32 off_is_storm(const struct off_cpu *cpu, __u64 now)
{
	__u64 took = now + OFF_PERIOD_NS - cpu->period_end_ns;

	return (cpu->is_storm || cpu->n_out >= OFF_STORM) &&
	       cpu->n_out * (__u64)OFF_PERIOD_NS >= took * OFF_STORM;
}

/* Adapts the threshold when the budget is used up or the period is over. */
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

/*
 * Moves the shift @k one step towards the one where 2^k intervals of the typical length together
 * reach the threshold.
 */
static __always_inline __u8 off_shift(__u8 k, __u64 typical_ns, __u64 threshold_ns)
{
	__u64 stands_for = typical_ns << (k & 31);

	if (stands_for < threshold_ns)
		return k < OFF_SHIFT_MAX ? k + 1 : k;
	return k && stands_for >> 1 >= threshold_ns ? k - 1 : k;
}

/*
 * True for one of 2^k turns in a row, at a random position: exactly one in 2^k is chosen on
 * average, and no periodic pattern of the program is followed.
 */
static __always_inline int off_draw(__u32 turn, __u32 seed, __u8 k)
{
	__u64 random = ((__u64)seed << 32 | turn >> (k & 31)) * OFF_MIX;

	random = (random ^ random >> 32) * OFF_MIX;
	return !((random >> 40 ^ turn) & ((1u << (k & 31)) - 1));
}

/* The enum off_chosen of an interval that was drawn. */
static __always_inline __u8 off_chosen_now(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > ring_wakeup_bytes ? OFF_CHOSEN_BUT
									       : OFF_CHOSEN;
}

/* Decides whether to record the stack of the interval that begins; returns enum off_chosen. */
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
