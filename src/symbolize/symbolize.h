/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Builds profiles with symbols from the sample counts of a window: one for the whole window
 * (symbolize_profile(), for recordings), or one per program (struct symbolize_run, for the
 * agent). Does not own counts or symbols. One thread at a time.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bpf/shared/abi.h"
#include "profile/profile.h"
#include "symbolize/name_loss.h"

struct sample_counts;
struct sample_counts_thread;
struct err;
struct event;
struct frame_symbols;

/* Selects which of a window's samples go into a profile, and with which values. */
enum symbolize_mode {
	/*
	 * Samples on the CPU: samples/count and cpu/nanoseconds, or the sampled event; with
	 * several events, one sample type for each.
	 */
	SYMBOLIZE_CPU,
	SYMBOLIZE_OFF,  /* waits: off_cpu/nanoseconds and samples/count (number of waits) */
	SYMBOLIZE_WALL, /* both: samples/count, and cpu, off_cpu and wall in nanoseconds */
};

struct symbolize_window {
	int64_t time_ns; /* start, since 1970 */
	int64_t duration_ns;
	int64_t clock_offset_ns; /* difference between the samples' clock and the time since 1970 */
	uint32_t freq_hz;
	const struct event *events; /* sampled events, by index; borrowed */
	size_t n_events;            /* 0: the CPU clock, at freq_hz */
	enum symbolize_mode mode;   /* for symbolize_profile() */
	bool locks_only;            /* of the waits, include only those for a futex */
	bool per_thread;            /* append the tid to the thread label */
};

struct symbolize_stats {
	uint64_t n_frames;                  /* of all samples, without error frames */
	uint64_t n_unnamed;                 /* frames without a name */
	uint64_t names_lost[NAME_LOSS_MAX]; /* the same frames, by reason */
	uint64_t n_approximate;             /* samples with a line that is approximate */
	uint64_t n_generated;               /* samples with generated code that has no symbol */
	char generated_by[16];              /* program with the majority of n_generated, or "" */
	uint64_t by_event[EVENTS_MAX];      /* samples of each event */
	uint64_t off_ns, futex_ns,
		no_stack_ns; /* time off the CPU; of it, for futexes; without a stack */
	/*
	 * Samples by language of the program (the highest enum profile_frame_kind on the
	 * stack) and by the reason for which the stack is incomplete (WALK_OK if it is
	 * complete by rules). A complete stack with a caller that was found by search is counted
	 * in the second array.
	 */
	uint64_t by_kind[PROFILE_FRAME_MAX][WALK_ERR_MAX];
	uint64_t searched_by_kind[PROFILE_FRAME_MAX];
};

/**
 * symbolize_profile() - build the profile of a whole window
 *
 * Labels: pid, tid, comm and thread; cpu if samples are separated by CPU; with waits, state
 * ("running" or how the thread waited) and wait (what for); unwind=search if a caller was found by
 * search rather than by rule. *@out_stats is overwritten.
 * Return: 0 and a new profile in *@out; -ENOMEM with @err.
 */
int symbolize_profile(struct frame_symbols *l, const struct sample_counts *c,
		      const struct symbolize_window *window, struct profile **out,
		      struct symbolize_stats *out_stats, struct err *err);

/* Decides whether the program of @thread is symbolized; @n is the number of its samples. */
typedef bool (*symbolize_filter_fn)(void *ctx, const struct sample_counts_thread *thread,
				    uint64_t n);

/*
 * Receives the profile of the program of @thread, SYMBOLIZE_CPU or SYMBOLIZE_OFF, and owns
 * @p. A negative result ends the run.
 */
typedef int (*symbolize_output_fn)(void *ctx, const struct sample_counts_thread *thread,
				   enum symbolize_mode mode, struct profile *p);

struct symbolize_sink {
	symbolize_filter_fn filter; /* NULL: all programs */
	symbolize_output_fn output;
	void *ctx;
};

/*
 * A window whose programs are symbolized one after another. It may move to another thread
 * between two steps.
 */
struct symbolize_run;

/*
 * Starts a run: one profile for each program (pid and start time) and one more for its waits;
 * several for a program with tens of thousands of frames. Adds to *@stats. @l, @c and @stats
 * are borrowed, the others copied. Returns 0 or -ENOMEM.
 */
int symbolize_run_new(struct symbolize_run **out, struct frame_symbols *l,
		      const struct sample_counts *c, const struct symbolize_window *window,
		      const struct symbolize_sink *to, struct symbolize_stats *stats);
void symbolize_run_free(struct symbolize_run *run);

DEFINE_FREEP(struct symbolize_run, symbolize_run_free)

/* Number of samples that are not symbolized yet, filtered ones excluded. */
uint64_t symbolize_run_n_remaining(const struct symbolize_run *run);

/*
 * Does a part of the work, less of it if frame_symbols_opts.must_yield is set. Returns 1 if
 * work remains, 0 when done, or -errno.
 */
int symbolize_run_step(struct symbolize_run *run);
