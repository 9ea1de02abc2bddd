/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/unit.h"

#include <stddef.h>
#include <string.h>

double profile_unit_ns(const char *unit)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {
		{ "nanoseconds", 1 },    { "ns", 1 },   { "microseconds", 1e3 }, { "us", 1e3 },
		{ "milliseconds", 1e6 }, { "ms", 1e6 }, { "seconds", 1e9 },      { "s", 1e9 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(unit, units[i].unit))
			return units[i].ns;
	return 0;
}
