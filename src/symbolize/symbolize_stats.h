/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Statistics of the samples that were symbolized: languages, incomplete stacks and frames without
 * a name. Recordings show them in their summary, an agent in its metrics. Values without a lock:
 * the caller makes sure that one thread at a time uses them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/abi.h"
#include "profile/profile.h"
#include "symbolize/name_loss.h"

struct frame_location;

struct symbolize_stats {
	uint64_t n_frames;                  /* of all samples, without error frames */
	uint64_t n_unnamed;                 /* frames without a name */
	uint64_t names_lost[NAME_LOSS_MAX]; /* the same frames, by reason */
	uint64_t n_approximate;             /* samples with a line that is approximate */
	uint64_t n_generated;               /* samples with generated code that has no symbol */
	char generated_by[16];              /* program with the majority of n_generated, or "" */
	uint64_t generated_votes;      /* private: votes for generated_by minus votes against it */
	uint64_t by_event[EVENTS_MAX]; /* samples of each event */
	uint64_t off_ns;               /* time off the CPU */
	uint64_t futex_ns;             /* part of off_ns that was spent waiting for a futex */
	uint64_t no_stack_ns;          /* part of off_ns whose stack was not recorded */
	uint64_t no_waker_ns;          /* part of off_ns with a stack, but of an unknown waker */
	uint64_t not_woken_ns;         /* part of off_ns of waits that have not ended */
	/*
	 * Samples by language of the program (the highest enum profile_frame_kind on the
	 * stack) and by the reason for which the stack is incomplete (WALK_OK if it is
	 * complete by rules). A complete stack with a caller that was found by search is counted
	 * in the second array.
	 */
	uint64_t by_kind[PROFILE_FRAME_MAX][WALK_ERR_MAX];
	uint64_t searched_by_kind[PROFILE_FRAME_MAX];
};

/* A sample on the CPU whose frames are resolved; everything is borrowed for the call. */
struct symbolize_stats_sample {
	const struct frame_location *words;
	const uint32_t *refs; /* for each frame, leaf first, its index in words */
	size_t n;             /* number of frames */
	const char *comm;     /* name of the process */
	uint64_t count;       /* number of samples with this stack */
	uint8_t event;        /* index of the sampled event, below EVENTS_MAX */
	bool is_searched;     /* a caller was found by search rather than by rule */
};

/* Adds a sample to all members except those of waits. */
void symbolize_stats_count(struct symbolize_stats *st, const struct symbolize_stats_sample *s);

/*
 * Adds the members that have a metric: n_frames, n_unnamed, names_lost and the samples by kind. An
 * agent, which sums over windows, exports no others.
 */
void symbolize_stats_add(struct symbolize_stats *sum, const struct symbolize_stats *st);
