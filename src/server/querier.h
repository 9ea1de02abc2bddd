/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * querier.v1.QuerierService: the methods of Pyroscope that Grafana calls. Field numbers, enums and
 * defaults are those of Pyroscope's querier.proto. start and end are milliseconds since 1970, and
 * both belong to the range. Methods that this store cannot answer return what clients accept as
 * empty rather than an error.
 */
#include "server/query_request.h"

/* Diff has two queries, the other methods one. */
enum { QUERIER_SIDES = 2 };

/* One request, in one thread. Members of query borrow from rq. */
struct querier_call {
	struct rpc *rpc;
	struct message_memory memory; /* owns the strings of rq */
	struct request rq[QUERIER_SIDES];
	struct query query[QUERIER_SIDES]; /* validated unless the method has no check */
	struct response response;
};

/* Values of Pyroscope's ProfileFormat. */
enum {
	FORMAT_UNSPECIFIED,
	FORMAT_FLAMEGRAPH,
	FORMAT_TREE,
	FORMAT_DOT,
	FORMAT_PPROF,
};

/* Values of Pyroscope's HeatmapQueryType. */
enum { HEATMAP_UNSPECIFIED, HEATMAP_INDIVIDUAL, HEATMAP_SPAN };

/*
 * The methods (querier.c). They write their fields into the open response and return 0 or -errno.
 */
int querier_types(struct querier_call *q);
int querier_label_names(struct querier_call *q);
int querier_label_values(struct querier_call *q);
int querier_series(struct querier_call *q);
int querier_analyze(struct querier_call *q);
int querier_stats(struct querier_call *q);
int querier_stacktraces(struct querier_call *q);
int querier_span_stacktraces(struct querier_call *q);
int querier_profile(struct querier_call *q);
int querier_diff(struct querier_call *q);
int querier_points(struct querier_call *q);
int querier_heatmap(struct querier_call *q);

/* Writes a label as the next element of the open list. */
void querier_put_label(struct response *resp, const char *name, const char *value);

/*
 * Reads the step in milliseconds. Returns 0 or -EINVAL. The step of the contract is a double of
 * seconds.
 */
int querier_step(struct querier_call *q, int64_t *out_ms);

/* A list is written only if it has elements; call both with the same @n. */
static inline void querier_list(struct response *resp, const char *name, size_t n)
{
	if (n)
		response_begin_list(resp, name);
}

static inline void querier_list_end(struct response *resp, size_t n)
{
	if (n)
		response_end_list(resp);
}
