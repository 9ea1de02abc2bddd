/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* From the counts of a window to a profile with names. One thread. */
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bpf/shared/abi.h"
#include "profile/profile.h"

struct collect;
struct collect_thread;
struct err;
struct event;
struct locator;

/* Which of a window's samples, and how they are weighed. */
enum names_what {
	/*
	 * What ran: samples/count and cpu/nanoseconds, or what was counted; where that was
	 * several events, one sample type for each of them.
	 */
	NAMES_CPU,
	NAMES_OFF,  /* what waited: off_cpu/nanoseconds and samples/count (waits) */
	NAMES_WALL, /* both: samples/count, cpu, off_cpu and wall/nanoseconds */
};

struct names_window {
	int64_t time_ns; /* start, since 1970 */
	int64_t duration_ns;
	int64_t clock_offset_ns; /* from the samples' clock to the time since 1970 */
	uint32_t freq_hz;
	const struct event *events; /* what was counted, by their numbers */
	size_t n_events;            /* 0: the CPUs' clocks, by frequency */
	enum names_what what;       /* for names_profile() */
	bool locks_only;            /* of what waited, only what waited for a futex */
	bool per_thread;            /* threads are called NAME-TID: each is told apart */
};

struct names_stats {
	uint64_t n_frames;                     /* of all samples together, errors left out */
	uint64_t n_unnamed;                    /* of these, those without a function's name */
	uint64_t n_near;                       /* samples whose lines are the nearest known */
	uint64_t n_generated;                  /* samples with generated code that has no name */
	char generated_by[16];                 /* the program that has most of these, if one has */
	uint64_t by_event[EVENTS_MAX];         /* samples of each */
	uint64_t off_ns, futex_ns, untaken_ns; /* off the CPU; for futexes; without a stack */
	/*
	 * Samples by the language of their program (enum profile_frame_kind: the
	 * highest that is on the stack) and by why the stack is cut, 0 if it is not.
	 */
	uint64_t by_kind[PROFILE_FRAME_MAX][WALK_ERR_MAX];
};

/**
 * names_profile() - the profile of a window
 *
 * Labels pid, tid, comm and thread, and cpu if it was kept; where there is what waited, state
 * ("running", or how it waits) and wait (what for). Return: 0 and a new profile; -ENOMEM.
 */
int names_profile(struct locator *l, const struct collect *c, const struct names_window *window,
		  struct profile **out, struct names_stats *out_stats, struct err *err);

/* Whether the program that @thread is of is to be named; @n of its samples are at stake. */
typedef bool (*names_wanted_fn)(void *ctx, const struct collect_thread *thread, uint64_t n);

/*
 * The profile @p of one program, which @thread is of: NAMES_CPU or NAMES_OFF. Takes @p. 0, or what
 * ends the rest.
 */
typedef int (*names_process_fn)(void *ctx, const struct collect_thread *thread,
				enum names_what what, struct profile *p);

struct names_to {
	names_wanted_fn wanted; /* NULL: all are */
	names_process_fn take;
	void *ctx;
};

/* A window whose programs are named one after the other, by one thread at a time. */
struct names_run;

/*
 * One profile for each program (pid and start), and one more for what waited of it; several of
 * one with tens of thousands of frames. Adds to *@stats; keeps @l, @c and @stats, copies the rest.
 * 0 or -ENOMEM; what to->take returned.
 */
int names_run_new(struct names_run **out, struct locator *l, const struct collect *c,
		  const struct names_window *window, const struct names_to *to,
		  struct names_stats *stats);
void names_run_free(struct names_run *run);

DEFINE_FREEP(struct names_run, names_run_free)

/* Samples that are not named yet, of those wanted. */
uint64_t names_run_left(const struct names_run *run);

/* Go on by a little, which locator_opts.gives_way makes less. 1: there is more; 0: done; -errno. */
int names_run_step(struct names_run *run);
