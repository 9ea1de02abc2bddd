/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From counts to a profile: each frame word becomes a location with a
 * mapping, an address and a name. What is known of a file is kept from one
 * window to the next. One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct collect;
struct err;
struct files;
struct names;
struct profile;

struct names_window {
	int64_t time_ns; /* start, since 1970 */
	int64_t duration_ns;
	uint32_t freq_hz;
};

struct names_stats {
	uint64_t n_locations; /* distinct places, of the last profile */
	uint64_t n_unnamed;   /* of these, those without a function's name */
};

/* Keeps @files. 0 or -ENOMEM. */
int names_new(struct names **out, struct files *files);
void names_free(struct names *n);

DEFINE_FREEP(struct names, names_free)

/**
 * names_profile() - the profile of a window
 *
 * Sample types samples/count and cpu/nanoseconds; labels pid, tid, comm and
 * thread. Return: 0 and a new profile; -ENOMEM.
 */
int names_profile(struct names *n, const struct collect *c, const struct names_window *window,
		  struct profile **out, struct err *err);

void names_stats(const struct names *n, struct names_stats *out);
