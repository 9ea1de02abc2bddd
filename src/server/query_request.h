/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The part of a request that selects profiles, decoded and validated. All methods share one struct
 * of request fields; each has its own table of fields (message.h).
 *
 * The recorded contract of ranges: a missing start or end is an error, start after end too, and an
 * unknown profile type or service is an empty result, not an error.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "query/selector.h"
#include "server/message.h"
#include "server/rpc.h"
#include "store/store.h"

/* The fields of all requests; those that a request lacks are NULL, empty or 0. */
struct request {
	const char *type;     /* NAME:TYPE:UNIT:PERIOD_TYPE:PERIOD_UNIT */
	const char *selector; /* {name="value",...} */
	const char *name;     /* of the label whose values are listed */
	struct message_strings matchers, label_names, group_by;
	struct message_strings call_site;     /* names of frames, root first */
	struct message_strings ids;           /* of profiles */
	struct message_strings spans, traces; /* hexadecimal ids of which samples must have one */
	const char *async_id;                 /* not supported; nor is the next line */
	int64_t async, pgo_keep;
	int64_t start, end; /* milliseconds since 1970, both included */
	int64_t max_nodes, limit;
	int64_t format, aggregation, heatmap; /* values of Pyroscope's enums */
	int64_t exemplars;                    /* the same; only NONE is supported */
	double step;                          /* seconds */
	bool pgo_aggregate;                   /* not supported */
};

/* Lists of a request are compared with each series, profile or stack, so they are bounded. */
enum { QUERY_MAX_LABELS = 64, QUERY_MAX_CALL_SITE = 4096, QUERY_MAX_IDS = 1024 };

/*
 * The validated query of a request. Free it with query_fini(). Strings of sel point into rq or into
 * the query itself, which therefore must not be copied.
 */
struct query {
	const struct request *rq; /* borrowed */
	struct selector selector; /* owns the matchers of sel */
	struct store_select sel;
	struct store_type type; /* of sel; its parts point into type_text */
	char *type_text;
	struct store_trace_id *traced; /* of sel */
	bool is_empty;                 /* nothing was selected, by store_merge() or a time line */
};

void query_fini(struct query *q);

/*
 * Validate a request with: range and matchers; range, selector and optionally a type; range,
 * selector and type. @rq must outlive @q. Return 0 or -errno. @q must be zeroed and is freed with
 * query_fini() even after a failure. They also set the deadline, which counts from now: validation
 * is the first step of a query.
 */
int query_check_labels(struct query *q, const struct request *rq, struct rpc *rpc);
int query_check_optional_type(struct query *q, const struct request *rq, struct rpc *rpc);
int query_check_profiles(struct query *q, const struct request *rq, struct rpc *rpc);

/*
 * Merge the selected profiles, as stacks (with @names_only by name alone) or as a profile. Return 0
 * or -errno. The caller frees *@out. A groupBy label of the request makes the samples of a profile
 * carry that label.
 */
int query_stacks(struct query *q, bool names_only, struct rpc *rpc, struct merged_stacks **out);
int query_profile(struct query *q, struct rpc *rpc, struct profile **out);

/*
 * For a query that selected nothing: adds the header X-Cameo-Empty, by which a profile type that is
 * not stored in the range is distinguished from one without matching profiles. The body is the
 * same, as clients of Pyroscope expect.
 */
void query_explain_empty(struct query *q, struct rpc *rpc);

/* Restricts merged stacks to the request's call site, if it has one. Returns 0 or -ENOMEM. */
int query_filter_call_site(const struct query *q, struct merged_stacks *s);

/*
 * Adds the header X-Cameo-Ignored with the fields of the request that no table has, if there are
 * any: the response is the one to a request without them.
 */
void query_report_ignored(const struct message_memory *memory, struct rpc *rpc);

int query_invalid(struct rpc *rpc, const char *what); /* records a message, returns -EINVAL */

/* The limit of nodes in the response; 0 in the request means @normal. Returns 0 or -EINVAL. */
int query_max_nodes(const struct request *rq, int64_t normal, struct rpc *rpc, uint32_t *out);

/* Tables of fields. */
#define REQUEST_FIELD(number, json, kind, member)                                                  \
	{                                                                                          \
		number, json, kind, offsetof(struct request, member), NULL, NULL                   \
	}

/* A message with the fields in the array @a, decoded into a @type. */
#define MESSAGE_OF(a, type)                                                                        \
	{                                                                                          \
		a, sizeof(a) / sizeof((a)[0]), sizeof(type), false                                 \
	}
