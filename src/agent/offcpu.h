/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From the ends of intervals off the CPU to time of stacks: a stack comes up when
 * its thread is switched out, and is kept here until the thread runs again. What is
 * not over at the end of a window is counted up to there, once. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/collect.h"
#include "base/cleanup.h"
#include "bpf/shared/offcpu.h"

struct offcpu;

/* Words for what has no stack: FRAME_ERROR with one of these. */
enum {
	OFF_NO_STACK = WALK_ERR_MAX, /* it was not taken: there were too many */
	OFF_NEW_THREAD,              /* it has not run yet */
	OFF_WORD_MAX,
};

/* What the frame of one of these says. */
const char *off_word_text(uint64_t why);
const char *off_state_text(enum off_state state);

/* So much time of a thread in a state. */
struct off_time {
	const struct collect_thread *thread;
	const uint64_t *words;
	size_t n_words;
	enum off_state state;
	uint64_t ns;
	uint64_t count;       /* intervals that began; 0: of one that was counted before */
	bool is_thinned;      /* it stands for others in its place: see offcpu_scale() */
	uint8_t place_plus_1; /* 0: that is not known */
};

typedef void (*off_time_fn)(void *ctx, const struct off_time *t);

/* @fn gets all that is counted, from within the calls below. 0 or -ENOMEM. */
int offcpu_new(struct offcpu **out, off_time_fn fn, void *ctx);
void offcpu_free(struct offcpu *o);

DEFINE_FREEP(struct offcpu, offcpu_free)

/* The stack of the interval that began at @out_ns. 0 or -ENOMEM. */
int offcpu_stack(struct offcpu *o, const struct collect_thread *thread, uint64_t out_ns,
		 const uint64_t *words, size_t n);

bool offcpu_knows(const struct offcpu *o, uint32_t tid);

/* An interval is over, or the thread is; @thread: who it was, where its stack is not here. */
void offcpu_end(struct offcpu *o, const struct off_record *r, const struct collect_thread *thread);
void offcpu_last(struct offcpu *o, const struct off_last_record *r,
		 const struct collect_thread *thread);

/*
 * A window ends at @now_ns with this thread as it is: what is sure of its interval is
 * counted. @is_last: there is no other window. 0 or -ENOMEM.
 */
int offcpu_cut(struct offcpu *o, uint32_t tid, const struct off_thread *t,
	       const struct collect_thread *thread, uint64_t now_ns, bool is_last);

/*
 * Of a thread, once the window is cut: by what its time in @place is to be multiplied to be what
 * the kernel's sums say. Call offcpu_next() when all were asked.
 */
struct collect_scale offcpu_scale(const struct offcpu *o, const struct collect_thread *thread,
				  uint8_t place);
/* Another window begins: threads that have ended are forgotten. */
void offcpu_next(struct offcpu *o);

/* The thread is not there any more. */
void offcpu_forget(struct offcpu *o, uint32_t tid);

size_t offcpu_count(const struct offcpu *o);
size_t offcpu_bytes(const struct offcpu *o); /* memory held, for budgets */
