/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a sample can be taken of: perf's events by their names. */
#include <stdbool.h>
#include <stdint.h>

struct event {
	const char *name;
	uint32_t type;   /* PERF_TYPE_* */
	uint64_t config; /* PERF_COUNT_* */
	uint64_t period; /* of what is counted, a sample; 0: by frequency */
	bool is_clock;   /* it counts nanoseconds */
	bool is_hardware;
};

/* The event called @name with its usual period: 0 or -ENOENT. */
int event_find(const char *name, struct event *out);

/* "cpu-clock, page-faults, ...", for messages. */
const char *event_names(void);
