/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The pools of worker threads. The pool of a request follows from the cost of its method (api.h),
 * so requests of one kind cannot delay those of another by occupying all threads.
 */
#include <stdbool.h>
#include <stddef.h>

#include "net/http.h"
#include "server/api.h"

struct buf;
struct http_server;

enum pool {
#define X(symbol, name, threads, waiting_threads, queue, nice, is_query) POOL_##symbol,
#include "server/pools.def"
#undef X
	POOL_MAX,
};

/* Fills in the options of all pools. @waiting: the store is a database that workers wait for. */
void pools_options(struct http_pool_options out[POOL_MAX], bool waiting);

enum pool pool_of(enum api_cost cost);

/* Appends waiting and running requests by pool in Prometheus' text format. */
void pools_put(const struct http_server *s, struct buf *out);
