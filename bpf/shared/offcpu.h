/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Time off the CPU. An interval begins where a thread is switched out, which is
 * where its stack is taken, and ends where it is switched in.
 *
 * Not every interval's stack can be: one of 2^shift in a row is chosen, before its length is
 * known, and stands for them: how many, is by how long the thread's intervals mostly were in
 * that place, which is known by its stack pointer and system call. An interval that turns out to
 * be long (by that measure, or OFF_LONG_NS) stands for itself alone, chosen or not. The time of all
 * the others is summed here by place, and what the chosen ones of the place stand for is made to be
 * that sum. So a thread's time is exact, and that of a place; if places are taken for one, where
 * it was is right on average.
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
	OFF_PLACES = 16,       /* where a thread waits: so many are told apart */
	OFF_TYPICAL_SHIFT = 6, /* lengths of intervals are kept in units of 64 ns */
};

enum off_chosen {
	OFF_NOT_CHOSEN,
	OFF_CHOSEN,     /* its stack was sent; a new thread has none */
	OFF_CHOSEN_BUT, /* it would have been, but the agent is far behind */
};

/* Of a thread: where it waits. */
struct off_place {
	__u64 thinned_ns; /* its intervals of which one stands for others */
	__u32 typical;    /* their length: a maximum that fades; 0: not known yet */
	__u16 turns;      /* their number so far */
	__u16 shift : 4;
	__u16 tag : 12; /* which it is; 0: none yet */
};

/* Value of the maps of threads. */
struct off_thread {
	__u64 out_ns;    /* since then it is off; 0: it runs */
	__u64 out_clock; /* the same by the clock that measures it; 0: it is not known */
	__u64 wake_ns;   /* since then it could run; 0: it waits, or that is not known yet */
	__u64 queued_ns; /* the kernel's own sum of that, when it was switched out */
	__u64 untaken_ns, untaken_queued_ns; /* long intervals that were not chosen */
	__u32 pid;
	__u8 state;  /* enum off_state */
	__u8 shift;  /* of this interval */
	__u8 chosen; /* enum off_chosen */
	__u8 asked;  /* its stack was told to who asked for those of sleeping threads */
	__u8 place;  /* of this interval: one of places */
	__u8 reserved[3];
	__u32 tid; /* 0: the entry is nobody's */
	struct off_place places[OFF_PLACES];
};
_Static_assert(sizeof(struct off_thread) == 64 + 16 * OFF_PLACES, "read by the agent");

/* RECORD_OFF: an interval is over. Its head's time is when it began. */
struct off_record {
	struct record_header head;
	__u64 wake_ns; /* 0: it was never without the right to run */
	__u64 in_ns;
};

/* RECORD_OFF_LAST: as in off_thread. */
struct off_last_record {
	struct record_header head;
	__u64 untaken_ns, untaken_queued_ns;
	__u64 thinned_ns[OFF_PLACES];
};
