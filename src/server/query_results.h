/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Responses to queries, so that equal queries at the same time are computed once, and later ones
 * use the response as long as it would be the same. Two requests are equal if method, tenant, body
 * and the headers that describe the body are.
 *
 * A response is never older than its request: a push into the range of a query, from its
 * acknowledgement on, excludes what was computed before. A retained response also has the stamp of
 * the store's files (store_stamp()), so a file that is damaged, replaced or lost is noticed. Stores
 * without a stamp share nothing, since other servers may change them.
 *
 * Use, in a worker: query_results_begin(); if it returns false, run the method, which calls
 * query_results_note_range() before it reads, and then query_results_end(). Any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct query_result;
struct query_results;
struct rpc;

/* Responses of @max_bytes together are retained. Returns 0 or -ENOMEM. */
int query_results_new(struct query_results **out, size_t max_bytes);
/* No request may be in progress. */
void query_results_free(struct query_results *c);

DEFINE_FREEP(struct query_results, query_results_free)

/*
 * Fills in rpc->rs and returns true if there is a response, after waiting for the request that
 * computes it. Otherwise sets rpc->result, to NULL if the request cannot be shared.
 */
bool query_results_begin(struct query_results *c, struct rpc *rpc);

/* A query of the request is about to read windows of this range. */
void query_results_note_range(struct rpc *rpc, int64_t start_ns, int64_t end_ns);

/* Passes the response on to requests that wait for it, and retains it if it is a success. */
void query_results_end(struct query_results *c, struct rpc *rpc);

/*
 * Windows from @first_ns to @last_ns were stored, or were dropped. Call it before that is
 * acknowledged. @tenant of NULL stands for all tenants.
 */
void query_results_changed(struct query_results *c, const char *tenant, int64_t first_ns,
			   int64_t last_ns);
