/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Waits of threads that have nothing to do, left out of profiles of where threads wait:
 * idle.def is the list of functions by which they are known.
 */
#include <stdbool.h>
#include <stdint.h>

struct profile;

struct idle_sum {
	bool has_waits;      /* there is a sample type off_cpu */
	int64_t hidden, all; /* of its values */
};

/**
 * idle_leave_out() - a profile without what is idle
 *
 * Samples with time off the CPU in a place of the list are left out, and a comment of
 * the profile says so; what ran there is not. Without a sample type off_cpu all is kept.
 *
 * Return: 0 and a new profile, -ENOMEM.
 */
int idle_leave_out(struct profile **out, const struct profile *p, struct idle_sum *out_sum);
