/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Counters of requests for /metrics. Any thread may count. A counter never decreases; the process
 * starts with zeros. Relaxed increments are enough, since readers need no order between counters.
 */
#include <stdatomic.h>

struct buf;

enum counter {
#define X(sym, metric, labels, help) COUNTER_##sym,
#include "server/counters.def"
#undef X
	COUNTER_MAX,
};

struct counters {
	atomic_uint_fast64_t v[COUNTER_MAX];
};

static inline void counters_add(struct counters *c, enum counter which)
{
	atomic_fetch_add_explicit(&c->v[which], 1, memory_order_relaxed);
}

/* Appends all counters in Prometheus' text format. */
void counters_put(const struct counters *c, struct buf *out);
