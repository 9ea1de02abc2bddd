/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients send seconds, milliseconds or nanoseconds without saying which. The ranges do not overlap
 * for times between 1973 and 5138.
 */
#include "server/time_arg.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/decimal.h"

/* Parses the part after "now": "", "-90s" or "-1h". */
static int parse_relative(const char *s, int64_t now_ns, int64_t *out)
{
	static const char names[] = "smhd";
	static const int64_t seconds[] = { 1, 60, 3600, 86400 };
	size_t len = strlen(s);
	const char *unit;
	char number[8];
	int64_t n;

	*out = now_ns;
	if (!len)
		return 0;
	unit = s[0] == '-' && len > 2 && len < sizeof(number) ? strchr(names, s[len - 1]) : NULL;
	if (!unit)
		return -EINVAL;
	snprintf(number, sizeof(number), "%.*s", (int)len - 2, s + 1);
	if (decimal_parse(number, &n) < 0 || n <= 0)
		return -EINVAL;
	*out = now_ns - n * seconds[unit - names] * CLOCK_SECOND_NS;
	return *out > 0 ? 0 : -EINVAL;
}

int time_arg_parse(const char *s, int64_t now_ns, int64_t *out)
{
	int64_t v, unit_ns;

	if (!strncmp(s, "now", 3))
		return parse_relative(s + 3, now_ns, out);
	if (decimal_parse(s, &v) < 0 || v <= 0)
		return -EINVAL;
	unit_ns = v < 100000000000LL ? CLOCK_SECOND_NS : v < 100000000000000LL ? CLOCK_MS_NS : 1;
	/* nanoseconds of 64 bits end in 2262 */
	return __builtin_mul_overflow(v, unit_ns, out) ? -EINVAL : 0;
}
