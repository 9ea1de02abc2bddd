/* SPDX-License-Identifier: Apache-2.0 */
#include "export/retry_pause.h"

#include <sys/random.h>

#include "base/clock.h"

enum { DOUBLINGS_MAX = 6, BACKLOG_PAUSE_MS = 200 };

/* Pauses need no cryptographic randomness, so the clock is a sufficient fallback. */
static uint64_t random_below(uint64_t n)
{
	uint64_t v = 0;

	if (getrandom(&v, sizeof(v), GRND_NONBLOCK) != sizeof(v))
		v = clock_monotonic_ns();
	return n ? v % n : 0;
}

uint64_t retry_pause_ms(unsigned int first_ms, unsigned int n_failures, int64_t requested_ms)
{
	uint64_t ms = (uint64_t)first_ms
		      << (n_failures < DOUBLINGS_MAX ? n_failures : DOUBLINGS_MAX);

	ms = ms / 2 + random_below(ms + 1);
	if (requested_ms > 0 && ms < (uint64_t)requested_ms)
		ms = (uint64_t)requested_ms + random_below((uint64_t)requested_ms / 4 + 1);
	return ms;
}

uint64_t retry_pause_backlog_ms(void)
{
	return random_below(2 * BACKLOG_PAUSE_MS);
}
