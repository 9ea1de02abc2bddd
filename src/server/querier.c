/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of querier.v1.QuerierService and the fields of their requests. A request is decoded
 * and its queries are validated before the method runs.
 *
 * Messages differ in their numbers for the same field (start is 1, 2, 3 or 4), which is why each
 * has a table. All are decoded into struct request, so handlers do not depend on the message. Field
 * 100 is not Pyroscope's.
 */
#include "server/querier.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "net/http_server.h"
#include "server/api.h"
#include "server/connect.h"

static const char *const format_names[] = {
	"PROFILE_FORMAT_UNSPECIFIED", "PROFILE_FORMAT_FLAMEGRAPH", "PROFILE_FORMAT_TREE",
	"PROFILE_FORMAT_DOT",         "PROFILE_FORMAT_PPROF",      NULL
};
static const char *const aggregation_names[] = { "TIME_SERIES_AGGREGATION_TYPE_SUM",
						 "TIME_SERIES_AGGREGATION_TYPE_AVERAGE", NULL };

static const char *const heatmap_names[] = { "HEATMAP_QUERY_TYPE_UNSPECIFIED",
					     "HEATMAP_QUERY_TYPE_INDIVIDUAL",
					     "HEATMAP_QUERY_TYPE_SPAN", NULL };

#define FIELD     REQUEST_FIELD
#define FIELDS(a) MESSAGE_OF(a, struct request)

static const char *const exemplar_names[] = { "EXEMPLAR_TYPE_UNSPECIFIED", "EXEMPLAR_TYPE_NONE",
					      "EXEMPLAR_TYPE_INDIVIDUAL", "EXEMPLAR_TYPE_SPAN",
					      NULL };
static const char *const async_names[] = { "ASYNC_QUERY_TYPE_DISABLED", "ASYNC_QUERY_TYPE_FORCE",
					   NULL };

/* callSite is a list of messages of one string. */
struct location {
	const char *name;
};
static const struct message_field site_fields[] = {
	{ 1, "name", MESSAGE_STRING, offsetof(struct location, name), NULL, NULL },
};
static const struct message site_message = { site_fields, 1, sizeof(struct location), false };

static const struct message_field go_pgo_fields[] = {
	FIELD(1, "keepLocations", MESSAGE_INT, pgo_keep),
	FIELD(2, "aggregateCallees", MESSAGE_BOOL, pgo_aggregate),
};
static const struct message go_pgo_message = FIELDS(go_pgo_fields);

/*
 * A list of messages of one string and a list of strings have the same layout in memory, so
 * callSite is decoded as the strings themselves.
 */
static const struct message_field stack_selector_fields[] = {
	{ 1, "callSite", MESSAGE_LIST, offsetof(struct request, call_site), &site_message, NULL },
	{ 2, "goPgo", MESSAGE_INNER, 0, &go_pgo_message, NULL },
};
static const struct message stack_selector_message = FIELDS(stack_selector_fields);

static const struct message_field async_fields[] = {
	FIELD(1, "requestId", MESSAGE_STRING, async_id),
	{ 2, "type", MESSAGE_INT, offsetof(struct request, async), NULL, async_names },
};
static const struct message async_message = FIELDS(async_fields);

/* Fields of nested messages are members of the same struct request. */
#define STACK_SELECTOR(number)                                                                     \
	{                                                                                          \
		number, "stackTraceSelector", MESSAGE_INNER, 0, &stack_selector_message, NULL      \
	}

#define RANGE_FIELDS(first)                                                                        \
	FIELD(first, "start", MESSAGE_INT, start), FIELD((first) + 1, "end", MESSAGE_INT, end)
#define QUERY_FIELDS                                                                               \
	FIELD(1, "profileTypeID", MESSAGE_STRING, type),                                           \
		FIELD(2, "labelSelector", MESSAGE_STRING, selector), RANGE_FIELDS(3)
#define EXEMPLAR_FIELD(number)                                                                     \
	{                                                                                          \
		number, "exemplarType", MESSAGE_INT, offsetof(struct request, exemplars), NULL,    \
			exemplar_names                                                             \
	}
#define FORMAT_FIELD(number)                                                                       \
	{                                                                                          \
		number, "format", MESSAGE_INT, offsetof(struct request, format), NULL,             \
			format_names                                                               \
	}

/* ---- one table for each request ------------------------------------------------------ */

static const struct message_field types_fields[] = {
	RANGE_FIELDS(1),
};
static const struct message_field names_fields[] = {
	FIELD(1, "matchers", MESSAGE_STRINGS, matchers),
	RANGE_FIELDS(2),
};
static const struct message_field values_fields[] = {
	FIELD(1, "name", MESSAGE_STRING, name),
	FIELD(2, "matchers", MESSAGE_STRINGS, matchers),
	RANGE_FIELDS(3),
};
static const struct message_field series_fields[] = {
	FIELD(1, "matchers", MESSAGE_STRINGS, matchers),
	FIELD(2, "labelNames", MESSAGE_STRINGS, label_names),
	RANGE_FIELDS(3),
};
static const struct message_field stacks_fields[] = {
	QUERY_FIELDS,
	FIELD(5, "maxNodes", MESSAGE_INT, max_nodes),
	FORMAT_FIELD(6),
	STACK_SELECTOR(7),
	/* selects profiles by the id with which they were pushed */
	FIELD(8, "profileIdSelector", MESSAGE_STRINGS, ids),
	{ 9, "async", MESSAGE_INNER, 0, &async_message, NULL },
	FIELD(10, "traceIdSelector", MESSAGE_STRINGS, traces),
	FIELD(11, "spanSelector", MESSAGE_STRINGS, spans),
	/* as in SelectMergeProfile, if the response is a pprof */
	FIELD(100, "groupBy", MESSAGE_STRINGS, group_by),
};
static const struct message_field profile_fields[] = {
	QUERY_FIELDS,
	FIELD(5, "maxNodes", MESSAGE_INT, max_nodes),
	STACK_SELECTOR(6),
	FIELD(7, "profileIdSelector", MESSAGE_STRINGS, ids),
	FIELD(8, "traceIdSelector", MESSAGE_STRINGS, traces),
	/* an addition of Cameo: samples of the response get this label */
	FIELD(100, "groupBy", MESSAGE_STRINGS, group_by),
};
static const struct message_field span_fields[] = {
	FIELD(1, "profileTypeID", MESSAGE_STRING, type),
	FIELD(2, "labelSelector", MESSAGE_STRING, selector),
	FIELD(3, "spanSelector", MESSAGE_STRINGS, spans),
	RANGE_FIELDS(4),
	FIELD(6, "maxNodes", MESSAGE_INT, max_nodes),
	FORMAT_FIELD(7),
};
static const struct message_field heatmap_fields[] = {
	QUERY_FIELDS,
	FIELD(5, "step", MESSAGE_DOUBLE, step),
	FIELD(6, "groupBy", MESSAGE_STRINGS, group_by),
	{ 7, "queryType", MESSAGE_INT, offsetof(struct request, heatmap), NULL, heatmap_names },
	EXEMPLAR_FIELD(8),
	FIELD(9, "limit", MESSAGE_INT, limit),
};
static const struct message_field points_fields[] = {
	QUERY_FIELDS,
	FIELD(5, "groupBy", MESSAGE_STRINGS, group_by),
	FIELD(6, "step", MESSAGE_DOUBLE, step),
	{ 7, "aggregation", MESSAGE_INT, offsetof(struct request, aggregation), NULL,
	  aggregation_names },
	STACK_SELECTOR(8),
	FIELD(9, "limit", MESSAGE_INT, limit),
	EXEMPLAR_FIELD(10),
};

static const struct message types_message = FIELDS(types_fields);
static const struct message names_message = FIELDS(names_fields);
static const struct message values_message = FIELDS(values_fields);
static const struct message series_message = FIELDS(series_fields);
static const struct message stacks_message = FIELDS(stacks_fields);
static const struct message span_message = FIELDS(span_fields);
static const struct message profile_message = FIELDS(profile_fields);
static const struct message points_message = FIELDS(points_fields);
static const struct message heatmap_message = FIELDS(heatmap_fields);
static const struct message none_message = { NULL, 0, sizeof(struct request), false };

/* Both queries of Diff are decoded into one array of struct request. */
static const struct message_field diff_fields[] = {
	{ 1, "left", MESSAGE_INNER, 0, &stacks_message, NULL },
	{ 2, "right", MESSAGE_INNER, sizeof(struct request), &stacks_message, NULL },
};
static const struct message diff_message = { diff_fields, 2, 2 * sizeof(struct request), false };

/* A method: how its request is decoded and validated. Without @check it validates by itself. */
struct querier_method {
	const struct message *request;
	int (*check)(struct query *q, const struct request *rq, struct rpc *rpc); /* or NULL */
	int (*run)(struct querier_call *q);
};

static void querier_call_fini(struct querier_call *q)
{
	message_memory_fini(&q->memory);
	for (int i = 0; i < QUERIER_SIDES; i++)
		query_fini(&q->query[i]);
}

/*
 * Decodes and validates before the response begins. After a failure the framing discards what was
 * written.
 */
static int run(struct querier_call *q, const struct querier_method *m)
{
	size_t n = m->request == &diff_message ? QUERIER_SIDES : 1, whole;
	struct rpc *rpc = q->rpc;
	int r;

	q->memory.claim = rpc->claim;
	q->memory.claim_ctx = rpc->claim_ctx;
	r = message_read(m->request, rpc->json, rpc->body, rpc->len, &q->memory, q->rq, rpc->err);
	for (size_t i = 0; r == 0 && m->check && i < n; i++)
		r = m->check(&q->query[i], &q->rq[i], rpc);
	if (r < 0)
		return r;
	q->response = response_to(&rpc->rs->body, rpc->json);
	whole = response_begin(&q->response, 0, NULL);
	r = m->run(q);
	response_end(&q->response, whole);
	query_report_ignored(&q->memory, rpc);
	for (size_t i = 0; r == 0 && i < n; i++)
		query_explain_empty(&q->query[i], rpc);
	return r;
}

static int handle(struct rpc *rpc)
{
	_cleanup_(querier_call_fini) struct querier_call q = { .rpc = rpc };

	return run(&q, rpc->api->args);
}

#define METHOD(name, costs, request, check, fn, what)                                              \
	{                                                                                          \
		.path = "/querier.v1.QuerierService/" name, .framing = connect_call,               \
		.run = handle, .access = API_READ, .cost = costs, .doc = what,                     \
		.args = &(const struct querier_method)                                             \
		{                                                                                  \
			request, check, fn                                                         \
		}                                                                                  \
	}

static const struct api_method methods[] = {
	METHOD("ProfileTypes", API_LOOKUP, &types_message, NULL, querier_types,
	       "List the profile types"),
	METHOD("LabelNames", API_LOOKUP, &names_message, query_check_labels, querier_label_names,
	       "List the names of labels"),
	METHOD("LabelValues", API_LOOKUP, &values_message, query_check_labels, querier_label_values,
	       "List the values of a label"),
	METHOD("Series", API_LOOKUP, &series_message, query_check_labels, querier_series,
	       "List the label sets of series"),
	METHOD("SelectMergeStacktraces", API_QUERY, &stacks_message, query_check_profiles,
	       querier_stacktraces, "Merge profiles into a flame graph, a tree or a pprof"),
	METHOD("SelectMergeSpanProfile", API_QUERY, &span_message, query_check_profiles,
	       querier_span_stacktraces, "Merge the samples of spans into a flame graph or a tree"),
	METHOD("SelectMergeProfile", API_QUERY, &profile_message, query_check_profiles,
	       querier_profile, "Merge profiles into a pprof file"),
	METHOD("SelectSeries", API_QUERY, &points_message, query_check_profiles, querier_points,
	       "Sum values over time"),
	METHOD("SelectHeatmap", API_QUERY, &heatmap_message, query_check_profiles, querier_heatmap,
	       "Count profiles by value over time"),
	METHOD("Diff", API_QUERY, &diff_message, query_check_profiles, querier_diff,
	       "Compare two merged profiles in a flame graph"),
	METHOD("AnalyzeQuery", API_FREE, &none_message, NULL, querier_analyze,
	       "Return an empty analysis, which clients accept"),
	METHOD("GetProfileStats", API_LOOKUP, &none_message, NULL, querier_stats,
	       "Return the time range of the stored profiles"),
	{ "/querier.v1.QuerierService/", connect_call, api_unknown_method, API_READ, API_FREE,
	  "Reject an unknown method", NULL, NULL },
};
API_LIST(querier_api, methods);
