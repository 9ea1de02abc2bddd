/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utc.h"

#include <time.h>

#include "base/clock.h"

void utc_text(int64_t time_ns, char out[UTC_TEXT_LEN])
{
	time_t t = (time_t)(time_ns / CLOCK_SECOND_NS);
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(out, UTC_TEXT_LEN, "%Y-%m-%dT%H:%M:%SZ", &tm);
}
