/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <string.h>

#define SOFTWARE(name, config)                                                                     \
	{                                                                                          \
		name, PERF_TYPE_SOFTWARE, config, 1, false, false                                  \
	}
#define HARDWARE(name, config, period)                                                             \
	{                                                                                          \
		name, PERF_TYPE_HARDWARE, config, period, false, true                              \
	}

/* Periods are such that a busy CPU gives some hundred samples a second. */
static const struct event events[] = {
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 0, true, false },
	SOFTWARE("page-faults", PERF_COUNT_SW_PAGE_FAULTS),
	SOFTWARE("minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN),
	SOFTWARE("major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ),
	SOFTWARE("context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES),
	SOFTWARE("cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS),
	HARDWARE("cycles", PERF_COUNT_HW_CPU_CYCLES, 10000019),
	HARDWARE("instructions", PERF_COUNT_HW_INSTRUCTIONS, 10000019),
	HARDWARE("cache-references", PERF_COUNT_HW_CACHE_REFERENCES, 100003),
	HARDWARE("cache-misses", PERF_COUNT_HW_CACHE_MISSES, 10007),
	HARDWARE("branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 1000003),
	HARDWARE("branch-misses", PERF_COUNT_HW_BRANCH_MISSES, 10007),
};

int event_find(const char *name, struct event *out)
{
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (strcmp(name, events[i].name) != 0)
			continue;
		*out = events[i];
		return 0;
	}
	return -ENOENT;
}

const char *event_names(void)
{
	return "cpu-clock, page-faults, minor-faults, major-faults, context-switches, "
	       "cpu-migrations, cycles, instructions, cache-references, cache-misses, branches, "
	       "branch-misses";
}
