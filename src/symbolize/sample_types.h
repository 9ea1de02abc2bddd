/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The sample types of profiles and their values, by the mode in which a window is symbolized. Pure
 * functions; any thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/abi.h"
#include "symbolize/window.h"

struct profile;
struct sample_counts_sample;

/* Returns the sample type of event number @i of the window, and its unit in *@out_unit. */
const char *sample_type_of_event(const struct symbolize_window *w, size_t i, const char **out_unit);

/*
 * Adds the sample types to @p, and sets the default one if it is not the last. Returns 0 or
 * -ENOMEM.
 */
int sample_types_add(struct profile *p, enum symbolize_mode mode, const struct symbolize_window *w);

/* Sample types of a profile, at most: 4 with SYMBOLIZE_WALL and SYMBOLIZE_LIVE. */
enum { SAMPLE_VALUES_MAX = EVENTS_MAX };

/* Fills in the values of @s, in the order of the sample types. */
void sample_types_values(enum symbolize_mode mode, const struct symbolize_window *w,
			 const struct sample_counts_sample *s, int64_t out[SAMPLE_VALUES_MAX]);

/*
 * Sets the period and its type. Waits and resident memory are measured and not sampled, so their
 * profiles have none; that of a heap profile is the mean of the bytes between two samples, as in
 * Go's. Returns 0 or -ENOMEM.
 */
int sample_types_set_period(struct profile *p, enum symbolize_mode mode,
			    const struct symbolize_window *w);
