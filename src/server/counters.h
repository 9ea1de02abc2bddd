/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What /metrics tells of requests. Any thread may count. */
#include <stdatomic.h>
#include <stdint.h>

struct buf;

enum counter {
#define X(sym, metric, labels) COUNTER_##sym,
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

/* Append all, as Prometheus reads it. */
void counters_put(const struct counters *c, struct buf *out);
