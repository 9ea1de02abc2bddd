/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Builds profiles with symbols from the sample counts of a window: one for the whole window
 * (symbolize_profile(), for recordings), or one per program (struct symbolize_run, for the
 * agent). Does not own counts or symbols. One thread at a time. profile_builder.h builds each
 * profile; this module decides which samples it has.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "symbolize/symbolize_stats.h"
#include "symbolize/window.h"

struct err;
struct frame_symbols;
struct profile;
struct sample_counts;
struct sample_counts_thread;

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

/*
 * Returns true if the program of @thread should be symbolized; @n is the number of its samples,
 * on the CPU or of waits. It is called during symbolize_run_new(), once for each of the two.
 */
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

/* Returns the number of samples and waits that are not symbolized yet, filtered ones excluded. */
uint64_t symbolize_run_n_remaining(const struct symbolize_run *run);

/*
 * Looks up symbols of the next programs, or builds and delivers the profile of one program, so that
 * a caller can stop between two steps. Lookups end early if frame_symbols_opts.must_yield is set.
 * Returns 1 if work remains; 0 when done; or a negative error, after which the run can only be
 * freed.
 */
int symbolize_run_step(struct symbolize_run *run);
