/* SPDX-License-Identifier: Apache-2.0 */
#include "server/retention.h"

#include "base/clock.h"
#include "store/store.h"

#define PACE_NS (3600ULL * CLOCK_SECOND_NS)

int64_t retention_oldest(struct retention *r, int64_t wanted_ns, int64_t first_day,
			 uint64_t monotonic_ns)
{
	int64_t begin = first_day * STORE_DAY_NS, end = begin + STORE_DAY_NS;

	if (wanted_ns - end < STORE_DAY_NS) {
		*r = (struct retention){ 0 };
		return wanted_ns;
	}
	if (!r->is_delayed)
		*r = (struct retention){ true, monotonic_ns + PACE_NS };
	if (monotonic_ns < r->next_ns)
		return begin;
	r->next_ns = monotonic_ns + PACE_NS;
	return end;
}
