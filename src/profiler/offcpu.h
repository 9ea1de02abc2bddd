/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Turns the intervals that threads spend off the CPU into time per stack. The stack arrives
 * when a thread is switched out and is kept here until the thread runs again; an interval
 * that spans the end of a window is counted up to that point, and its remainder in the next
 * window. Where the BPF program selected only some of many short waits, the others' time is
 * estimated (see offcpu.c). It counts nothing itself: every part goes to a callback. One
 * thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bpf/shared/offcpu.h"
#include "profiler/off_texts.h"
#include "profiler/sample_counts.h"

struct offcpu;
struct waker_chain;
struct waking;

/* Time that a thread spent in a state, with one stack. */
struct offcpu_time {
	const struct sample_counts_thread *thread;
	const uint64_t *words;
	size_t n_words;
	enum off_state state;
	uint64_t ns;
	uint64_t count; /* number of intervals that began; 0 for the continuation of one */
	/* Stands for other waits in its place too: see offcpu_scale(). */
	bool is_thinned;
	uint8_t place_plus_1; /* 0: unknown */
	struct sample_labels labels;
	const struct waker_chain *wakers; /* who ended the wait; NULL: not recorded */
};

typedef void (*offcpu_time_fn)(void *ctx, const struct offcpu_time *t);

/* Every call below reports the time it counts to @fn before it returns. Returns 0 or -ENOMEM. */
int offcpu_new(struct offcpu **out, offcpu_time_fn fn, void *ctx);
void offcpu_free(struct offcpu *o);

DEFINE_FREEP(struct offcpu, offcpu_free)

/* Keeps the stack and labels of the interval that began at @out_ns. Returns 0 or -ENOMEM. */
int offcpu_add_stack(struct offcpu *o, const struct sample_counts_thread *thread,
		     const struct sample_labels *labels, uint64_t out_ns, const uint64_t *words,
		     size_t n);

/* With wakers, the time of each wait with a stack is reported with a chain of wakers. */
void offcpu_enable_wakers(struct offcpu *o);
/* Stores the waker of a wait, if the stack of the wait is here. Returns 0 or -ENOMEM. */
int offcpu_add_waker(struct offcpu *o, const struct waking *k);

/* Returns true if something is known of thread @tid. */
bool offcpu_has_thread(const struct offcpu *o, uint32_t tid);

/* Counts an interval that has ended. @thread identifies the thread if its stack is not here. */
void offcpu_end_wait(struct offcpu *o, const struct off_record *r,
		     const struct sample_counts_thread *thread);
/* Takes the final sums of a thread that has ended. They are used until the window ends. */
void offcpu_end_thread(struct offcpu *o, const struct off_last_record *r,
		       const struct sample_counts_thread *thread);

/*
 * Ends the window at @now_ns for one thread, whose state is @t: counts its present interval if its
 * weight is certain. @is_last: no other window follows. Returns 0 or -ENOMEM.
 */
int offcpu_end_window(struct offcpu *o, uint32_t tid, const struct off_thread *t,
		      const struct sample_counts_thread *thread, uint64_t now_ns, bool is_last);

/*
 * Returns the factors that bring a thread's counted time in @place up to the kernel's exact
 * sums. Call it after offcpu_end_window() of all threads and before offcpu_begin_window().
 */
struct sample_counts_scale offcpu_scale(const struct offcpu *o,
					const struct sample_counts_thread *thread, uint8_t place);
/* Starts the next window: resets the sums and drops threads that have ended. */
void offcpu_begin_window(struct offcpu *o);

/* Drops a thread that has ended unnoticed. */
void offcpu_remove_thread(struct offcpu *o, uint32_t tid);

/* Number of known threads. */
size_t offcpu_count(const struct offcpu *o);
/* Memory held, in bytes. */
size_t offcpu_bytes(const struct offcpu *o);
