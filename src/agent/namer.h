/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The thread that names: it is given the counts of a window and makes
 * profiles of them, one for each set of labels. One window at a time. Its
 * priority may be low, and a thread's can't be raised again without the right
 * to: who is in a hurry in the end goes on in its place.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/names.h"
#include "base/cleanup.h"
#include "symbol/symbolizer.h"

struct collect;
struct err;
struct export_window;
struct facts;
struct labeler;
struct locator_opts;
struct namer;

struct namer_opts {
	const struct locator_opts *locator; /* copied; with a lock */
	struct facts *facts;
	struct labeler *labeler; /* taken */
	/* From its thread; takes the window. */
	void (*export)(void *ctx, struct export_window *w);
	void (*log)(void *ctx, const char *message);
	void *ctx;
	size_t part_bytes; /* profiles of a window are handed over when they hold so much; 0: all at
			      once */
	int priority;      /* that its thread runs with: setpriority() */
};

/* Takes opts->labeler also when it fails. 0 or -errno. */
int namer_new(struct namer **out, const struct namer_opts *opts);
/* What it is at is finished first. */
void namer_free(struct namer *n);

DEFINE_FREEP(struct namer, namer_free)

bool namer_is_idle(struct namer *n);

/* The counts of a window, which are taken: only when it is idle, or finished. */
void namer_give(struct namer *n, struct collect *c, const struct names_window *window);

/*
 * Do in the calling thread what is left of the window it is at, or was given since: the
 * thread is over. When CLOCK_MONOTONIC says @deadline_ns what is named goes out. Return: the number
 * of samples that are not.
 */
uint64_t namer_finish(struct namer *n, uint64_t deadline_ns);

/*
 * It is to be done soon: when CLOCK_MONOTONIC says @until_ns nothing is asked for any more, and
 * what has no name by then goes out without one.
 */
void namer_hurry(struct namer *n, uint64_t until_ns);

/* From the next window on; taken. */
void namer_set_labeler(struct namer *n, struct labeler *l);

/* Forget what is only kept for later: at once, or after the window that is being named. */
void namer_shrink(struct namer *n);

struct namer_stats {
	struct names_stats names;
	struct symbolizer_counters symbolizer;
	uint64_t n_windows, n_profiles, n_failed;
	uint64_t n_series_over, n_samples_dropped;
	uint64_t n_unread; /* profiles labelled without what could not be read of their program */
	uint64_t n_held;   /* that wait for it */
	uint64_t last_ns;  /* that the last window took */
	size_t names_bytes, n_series;
	int worker_pid; /* the symbolizer's; 0: none */
};

/* As of the last window. */
void namer_stats(struct namer *n, struct namer_stats *out);
