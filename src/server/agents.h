/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The latest status report of each agent, in memory only. Agents report once per window, so a
 * restarted server soon has all reports again. A report is dropped after a day without a new one.
 * Any thread. Reports are untrusted: an agent may send anything under any name of its own tenant.
 * The limits below bound memory, not correctness.
 */
#include "base/cleanup.h"

struct agents;

/*
 * Reports in total, their bytes as JSON, the bytes of one request, and the labels and values of one
 * report. Beyond the first two the oldest reports are dropped.
 */
enum {
	AGENTS_MAX = 20000,
	AGENTS_MAX_BYTES = 32 << 20,
	AGENTS_MAX_REPORT = 64 << 10,
	AGENTS_MAX_LABELS = 64,
	AGENTS_MAX_VALUES = 256,
};

/* Returns 0 or -ENOMEM. agents_free() requires that no request is in progress. */
int agents_new(struct agents **out);
void agents_free(struct agents *a);

DEFINE_FREEP(struct agents, agents_free)
