/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Clocks as integers. CLOCK_REALTIME counts from 1970 and can be set; CLOCK_MONOTONIC counts
 * from an unspecified point and cannot.
 */
#include <stdint.h>
#include <time.h>

/* Nanoseconds in a millisecond and in a second. */
enum { CLOCK_MS_NS = 1000000, CLOCK_SECOND_NS = 1000000000 };

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * CLOCK_SECOND_NS + (uint64_t)ts.tv_nsec;
}

static inline uint64_t clock_unix_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

static inline uint64_t clock_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline int64_t clock_monotonic_ms(void)
{
	return (int64_t)(clock_monotonic_ns() / CLOCK_MS_NS);
}
