/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* From the counts of a window to a profile with names. One thread. */
#include <stdint.h>

struct collect;
struct err;
struct locator;
struct profile;

struct names_window {
	int64_t time_ns; /* start, since 1970 */
	int64_t duration_ns;
	uint32_t freq_hz;
};

struct names_stats {
	uint64_t n_frames;  /* of all samples together, errors left out */
	uint64_t n_unnamed; /* of these, those without a function's name */
};

/**
 * names_profile() - the profile of a window
 *
 * Sample types samples/count and cpu/nanoseconds; labels pid, tid, comm and
 * thread. Return: 0 and a new profile; -ENOMEM.
 */
int names_profile(struct locator *l, const struct collect *c, const struct names_window *window,
		  struct profile **out, struct names_stats *out_stats, struct err *err);
