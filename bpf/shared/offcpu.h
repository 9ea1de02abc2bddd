/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Time off the CPU. An interval begins where a thread is switched out, which is
 * where its stack is taken, and ends where it is switched in.
 *
 * Not every interval's stack can be: one of 2^shift is chosen, before its length is
 * known, and stands for so many: how many, is by how long the thread's intervals mostly were in
 * that place, which is known by its stack pointer and system call. An interval that turns out to
 * be long (by that measure, or OFF_LONG_NS) stands for itself alone, chosen or not. The time of all
 * the others is summed here, and what the chosen ones of the thread stand for is made to be that
 * sum. So a thread's time is exact, and where it was is right on average.
 */
#include "bpf/shared/abi.h"

enum off_state {
	OFF_NONE, /* it is on */
#define X(sym, label) OFF_##sym,
#include "bpf/shared/off_states.def"
#undef X
	OFF_STATE_MAX,
};

enum {
	OFF_LONG_NS = 1000000000,
	OFF_THREADS_MAX = 1 << 17,
	OFF_PLACES = 8,        /* where a thread waits: so many are told apart */
	OFF_TYPICAL_SHIFT = 6, /* lengths of intervals are kept in units of 64 ns */
};

enum off_chosen {
	OFF_NOT_CHOSEN,
	OFF_CHOSEN,     /* its stack was sent; a new thread has none */
	OFF_CHOSEN_BUT, /* it would have been, but the agent is far behind */
};

/* Value of the maps of threads. */
struct off_thread {
	__u64 out_ns;    /* since then it is off; 0: it runs */
	__u64 out_clock; /* the same by the clock that measures it; 0: it is not known */
	__u64 wake_ns;   /* since then it could run; 0: it waits, or that is not known yet */
	__u64 queued_ns; /* the kernel's own sum of that, when it was switched out */
	/* long intervals that were not chosen; all those of which one stands for others */
	__u64 untaken_ns, untaken_queued_ns, thinned_ns;
	__u32 pid;
	__u8 state;  /* enum off_state */
	__u8 shift;  /* of this interval */
	__u8 chosen; /* enum off_chosen */
	__u8 asked;  /* its stack was told to who asked for those of sleeping threads */
	__u8 place;  /* of this interval, and of each place, below: */
	__u8 reserved[3];
	__u32 tid; /* 0: the entry is nobody's */
	__u8 shifts[OFF_PLACES];
	__u32 typical[OFF_PLACES]; /* length of intervals: a maximum that fades; 0: not known yet */
};
_Static_assert(sizeof(struct off_thread) == 112, "read by the agent");

/* RECORD_OFF: an interval is over. Its head's time is when it began. */
struct off_record {
	struct record_header head;
	__u64 wake_ns; /* 0: it was never without the right to run */
	__u64 in_ns;   /* RECORD_OFF_LAST: 0 */
	__u64 untaken_ns, untaken_queued_ns, thinned_ns; /* RECORD_OFF_LAST: as in off_thread */
};
