/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How agents say that they are: of each the newest report, in memory. An agent
 * reports every window, so who has restarted knows them again soon; what was not
 * heard of for a day is forgotten. Any thread.
 */
#include "base/cleanup.h"

struct agents;

enum {
	AGENTS_MAX = 20000,
	AGENTS_MAX_BYTES = 32 << 20,
	AGENTS_MAX_REPORT = 64 << 10,
	AGENTS_MAX_LABELS = 64,
	AGENTS_MAX_VALUES = 256,
};

int agents_new(struct agents **out);
void agents_free(struct agents *a);

DEFINE_FREEP(struct agents, agents_free)
