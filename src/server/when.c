/* SPDX-License-Identifier: Apache-2.0 */
#include "server/when.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* "now", "now-90s", "now-1h": before now. */
static int64_t read_ago(const char *s, int64_t now_ns)
{
	static const char names[] = "smhd";
	static const int64_t seconds[] = { 1, 60, 3600, 86400 };
	const char *unit;
	long long n;
	char *end;

	if (!*s)
		return now_ns;
	n = *s == '-' ? strtoll(s + 1, &end, 10) : 0;
	unit = n > 0 && n < 100000 && *end ? strchr(names, *end) : NULL;
	return unit ? now_ns - n * seconds[unit - names] * CLOCK_SECOND_NS : 0;
}

int64_t when_read(const char *s, int64_t now_ns)
{
	long long v;

	if (s && !strncmp(s, "now", 3))
		return read_ago(s + 3, now_ns);
	v = s ? strtoll(s, NULL, 10) : 0;
	if (v <= 0)
		return 0;
	if (v < 100000000000LL)
		return v * CLOCK_SECOND_NS;
	return v < 100000000000000LL ? v * CLOCK_MS_NS : v;
}
