/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients send seconds, milliseconds or nanoseconds without saying which. The ranges do not overlap
 * for times between 1973 and 5138.
 */
#include "server/time_arg.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* The time before @now_ns of "", "-90s" or "-1h"; 0 if @s is malformed. */
static int64_t parse_relative(const char *s, int64_t now_ns)
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

int64_t time_arg_parse(const char *s, int64_t now_ns)
{
	long long v;

	if (s && !strncmp(s, "now", 3))
		return parse_relative(s + 3, now_ns);
	v = s ? strtoll(s, NULL, 10) : 0;
	if (v <= 0)
		return 0;
	if (v < 100000000000LL)
		return v * CLOCK_SECOND_NS;
	return v < 100000000000000LL ? v * CLOCK_MS_NS : v;
}
