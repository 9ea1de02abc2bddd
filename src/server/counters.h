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

/* Why requests were refused: the rows of failures.def, and what is refused before them. */
enum refusal {
#define X(symbol, error, http, otlp, code, grpc, retry_s, counter, cause) REFUSAL_##symbol,
#include "server/failures.def"
#undef X
	REFUSAL_HOST,     /* the Host header is not one of this server's */
	REFUSAL_ORIGIN,   /* a web page of another origin */
	REFUSAL_SCOPE,    /* the credential lacks the scope */
	REFUSAL_FRAMING,  /* HTTP that two parsers may read differently */
	REFUSAL_OVERLOAD, /* too many concurrent bodies */
	REFUSAL_STOPPING, /* the server is stopping */
	REFUSAL_PATH,     /* no such resource */
	REFUSAL_VERB,     /* another HTTP method, or a content type that the method does not have */
	REFUSAL_MAX,
};

struct counters {
	atomic_uint_fast64_t refusals[REFUSAL_MAX];
	atomic_uint_fast64_t v[COUNTER_MAX];
};

static inline void counters_add(struct counters *c, enum counter which)
{
	atomic_fetch_add_explicit(&c->v[which], 1, memory_order_relaxed);
}

static inline void counters_refuse(struct counters *c, enum refusal why)
{
	atomic_fetch_add_explicit(&c->refusals[why], 1, memory_order_relaxed);
}

/* Appends all counters in Prometheus' text format. */
void counters_put(const struct counters *c, struct buf *out);
