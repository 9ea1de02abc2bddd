/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Builds a pprof profile from some samples of a window: resolves their frames, labels them and
 * converts counts to values. It does not choose the samples: symbolize.h does, which puts
 * those of one program, or of the whole window, into a profile.
 *
 * One thread at a time. A builder may be used for several profiles in a row, which reuse its
 * memory.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "symbolize/window.h"

struct frame_symbols;
struct profile;
struct profile_builder;
struct sample_counts;
struct symbolize_stats;

/*
 * Everything is borrowed until profile_builder_free(). @stats is added to, never reset. Returns 0
 * or -ENOMEM.
 */
int profile_builder_new(struct profile_builder **out, struct frame_symbols *symbols,
			const struct sample_counts *c, const struct symbolize_window *window,
			struct symbolize_stats *stats);
void profile_builder_free(struct profile_builder *b);

DEFINE_FREEP(struct profile_builder, profile_builder_free)

/*
 * Selects the samples of the window that the next calls process, by index, and how their values
 * are counted; window->mode is ignored. @samples is borrowed until the next selection.
 */
void profile_builder_select(struct profile_builder *b, enum symbolize_mode mode,
			    const uint32_t *samples, size_t n);

/*
 * Looks up the symbols of the selected samples, so that building profiles of parts of them finds
 * all in the cache. Returns 0, -ENOMEM, or -EAGAIN if frame_symbols_prefetch() yielded: call it
 * again for what remains.
 */
int profile_builder_prefetch(struct profile_builder *b);

/* Builds the profile of the selected samples. Returns 0 and a new profile in *@out; or -ENOMEM. */
int profile_builder_build(struct profile_builder *b, struct profile **out);
