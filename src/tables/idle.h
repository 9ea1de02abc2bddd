/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Excludes the waits of idle threads, those that wait for work, from off-CPU profiles. idle.def
 * lists the functions by which they are recognized.
 *
 * Most off-CPU time of a server belongs to idle threads, and it hides the waits that delay
 * requests. Names of functions decide, since neither the kernel's state nor the duration
 * distinguishes the two kinds of waits.
 */
#include <stdbool.h>
#include <stdint.h>

struct profile;

struct idle_sum {
	bool has_waits;      /* the profile has the sample type off_cpu */
	int64_t hidden, all; /* sums of off_cpu values */
};

/**
 * idle_exclude() - copy a profile without its idle waits
 *
 * Samples whose off-CPU time was spent in an idle wait are excluded, and a comment in the profile
 * reports it. On-CPU samples are always retained. A profile without the sample type off_cpu is
 * copied completely.
 *
 * @p is unchanged. A sample is excluded completely, including its values of other types.
 *
 * Return: 0 and a new profile in *@out, or -ENOMEM.
 */
int idle_exclude(struct profile **out, const struct profile *p, struct idle_sum *out_sum);
