/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Off-CPU time: what the programs at the scheduler's tracepoints and the agent share. An interval
 * begins where a thread is switched out, which is when its stack is recorded, and ends where the
 * thread is switched in.
 *
 * The estimate. Taking the stack of every interval would cost more than the switches themselves, so
 * intervals are sampled. One interval of 2^shift in a row is chosen, before its length is known,
 * and represents all of them. The shift follows from the typical length of the thread's intervals
 * at that place; a place is a system call and stack pointer, which costs nothing to find. An
 * interval that turns out to be long (compared with the typical one of its place, or with
 * OFF_LONG_NS) represents only itself, whether it was chosen or not. The time of all others is
 * summed per place in the kernel, and the agent scales the chosen ones of the place to that sum. So
 * the time of a thread is exact, and so is the time of a place. If two places share a slot, their
 * split is right on average.
 */
#include "bpf/shared/abi.h"

enum off_state {
	OFF_NONE, /* it runs */
#define X(sym, label) OFF_##sym,
#include "bpf/shared/off_states.def"
#undef X
	OFF_STATE_MAX,
};

enum {
	OFF_LONG_NS = 1000000000,
	OFF_THREADS_MAX = 1 << 17,
	OFF_PLACES = 16,       /* places that are distinguished per thread */
	OFF_TYPICAL_SHIFT = 6, /* lengths of intervals are stored in units of 64 ns */
};

enum off_chosen {
	OFF_NOT_CHOSEN,
	OFF_CHOSEN,     /* its stack was sent; a new thread has none */
	OFF_CHOSEN_BUT, /* it was drawn, but the agent lags behind and no stack was sent */
};

/* A place where a thread waits. */
struct off_place {
	__u64 thinned_ns; /* summed time of all intervals that are subject to sampling */
	__u32 typical;    /* typical length: a maximum that decays; 0 while unknown */
	__u16 turns;      /* number of intervals so far, modulo 2^16 */
	__u16 shift : 4;
	__u16 tag : 12; /* hash that identifies the place; 0 if the slot is unused */
};

/* The state of a thread; value of the maps of threads. */
struct off_thread {
	__u64 out_ns;    /* time of the switch out; 0 if the thread runs */
	__u64 out_clock; /* the same by the run queue's clock; 0 if unknown */
	__u64 wake_ns;   /* time of the wake-up; 0 if it waits, or the time is not known yet */
	__u64 queued_ns; /* the kernel's sum of time spent runnable (run_delay) at the switch out */
	__u64 unsampled_ns,
		unsampled_queued_ns; /* long intervals without a stack: waiting, and runnable */
	__u32 pid;
	__u8 state;          /* enum off_state */
	__u8 shift;          /* of the current interval */
	__u8 chosen;         /* enum off_chosen */
	__u8 reported;       /* the iterator has reported its stack */
	__u8 place;          /* index of the current interval's place */
	__u8 is_woken;       /* with wakers: the waker of the current wait was sent */
	__u8 last_has_stack; /* the stack of the wait that ended last was sent */
	__u8 reserved;
	__u32 tid; /* 0 if the entry is unused */
	struct off_place places[OFF_PLACES];
	/* with wakers: start and wake-up of the wait that ended last; 0: none */
	__u64 last_out_ns, last_wake_ns;
};
_Static_assert(sizeof(struct off_thread) == 80 + 16 * OFF_PLACES, "read by the agent");

/*
 * A record with RECORD_WAKER is the stack of a thread at the moment when it wakes another one,
 * whose wait began at the head's len. The head's arg: the number of the thread that is woken, and
 * the start of the last wait of the waker, of which the stack was sent.
 */
#define WAKER_ARG(tid, last_out_ns) ((__u32)(tid) | (__u64)(__u32)(last_out_ns) << 32)
#define WAKER_TID(arg)              ((__u32)(arg))
#define WAKER_LAST_OUT(arg)         ((__u32)((arg) >> 32)) /* its low 32 bits; 0: there is none */

/* RECORD_OFF: an interval has ended. The head's time is its start. */
struct off_record {
	struct record_header head;
	__u64 wake_ns; /* 0 if it was runnable all the time */
	__u64 in_ns;
};

/* RECORD_OFF_LAST: sums of a thread that has exited, as in struct off_thread. */
struct off_last_record {
	struct record_header head;
	__u64 unsampled_ns, unsampled_queued_ns;
	__u64 thinned_ns[OFF_PLACES];
};
