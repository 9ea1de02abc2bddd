/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which method is which, which of its fields has which number, and reading its
 * request: what it asks for is checked before the method runs.
 */
#include "server/querier.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "net/http_server.h"

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

/* callSite is a list of messages of one string. */
struct location {
	const char *name;
};
static const struct message_field site_fields[] = {
	{ 1, "name", MESSAGE_STRING, offsetof(struct location, name), NULL, NULL },
};
static const struct message site_message = { site_fields, 1, sizeof(struct location) };

static const struct message_field stack_selector_fields[] = {
	{ 1, "callSite", MESSAGE_LIST, 0, &site_message, NULL },
};
static const struct message stack_selector_message = { stack_selector_fields, 1,
						       sizeof(struct message_list) };

#define STACK_SELECTOR(number)                                                                     \
	{                                                                                          \
		number, "stackTraceSelector", MESSAGE_INNER, offsetof(struct request, call_site),  \
			&stack_selector_message, NULL                                              \
	}

#define RANGE_FIELDS(first)                                                                        \
	FIELD(first, "start", MESSAGE_INT, start), FIELD((first) + 1, "end", MESSAGE_INT, end)
#define QUERY_FIELDS                                                                               \
	FIELD(1, "profileTypeID", MESSAGE_STRING, type),                                           \
		FIELD(2, "labelSelector", MESSAGE_STRING, selector), RANGE_FIELDS(3)
#define FORMAT_FIELD(number)                                                                       \
	{                                                                                          \
		number, "format", MESSAGE_INT, offsetof(struct request, format), NULL,             \
			format_names                                                               \
	}

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
	/* only these */
	FIELD(8, "profileIdSelector", MESSAGE_STRINGS, ids),
};
static const struct message_field profile_fields[] = {
	QUERY_FIELDS,
	FIELD(5, "maxNodes", MESSAGE_INT, max_nodes),
	STACK_SELECTOR(6),
	FIELD(7, "profileIdSelector", MESSAGE_STRINGS, ids),
	/* ours: samples have this label */
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
static const struct message none_message = { NULL, 0, sizeof(struct request) };

static const struct message_field diff_fields[] = {
	{ 1, "left", MESSAGE_INNER, 0, &stacks_message, NULL },
	{ 2, "right", MESSAGE_INNER, sizeof(struct request), &stacks_message, NULL },
};
static const struct message diff_message = { diff_fields, 2, 2 * sizeof(struct request) };

static const struct method {
	const char *name;
	const struct message *message;
	int (*check)(struct query *q, const struct request *rq, struct rpc *rpc); /* or NULL */
	int (*run)(struct question *q);
} methods[] = {
	{ "ProfileTypes", &types_message, NULL, querier_types },
	{ "LabelNames", &names_message, query_labels, querier_label_names },
	{ "LabelValues", &values_message, query_labels, querier_label_values },
	{ "Series", &series_message, query_labels, querier_series },
	{ "SelectMergeStacktraces", &stacks_message, query_values, querier_stacktraces },
	{ "SelectMergeSpanProfile", &span_message, query_values, querier_spans },
	{ "SelectMergeProfile", &profile_message, query_values, querier_profile },
	{ "SelectSeries", &points_message, query_values, querier_points },
	{ "SelectHeatmap", &heatmap_message, query_values, querier_heatmap },
	{ "Diff", &diff_message, query_values, querier_diff },
	{ "AnalyzeQuery", &none_message, NULL, querier_analyze },
	{ "GetProfileStats", &none_message, NULL, querier_stats },
};

static void question_fini(struct question *q)
{
	message_memory_fini(&q->memory);
	for (int i = 0; i < QUESTION_SIDES; i++)
		query_fini(&q->query[i]);
}

static int run(struct question *q, const struct method *m)
{
	size_t n = m->message == &diff_message ? QUESTION_SIDES : 1, whole;
	struct rpc *rpc = q->rpc;
	int r = message_read(m->message, rpc->json, rpc->body, rpc->len, &q->memory, q->rq,
			     rpc->err);

	for (size_t i = 0; r == 0 && m->check && i < n; i++)
		r = m->check(&q->query[i], &q->rq[i], rpc);
	if (r < 0)
		return r;
	q->answer = answer_to(&rpc->rs->body, rpc->json);
	whole = answer_begin(&q->answer, 0, NULL);
	r = m->run(q);
	answer_end(&q->answer, whole);
	return r;
}

int querier_rpc(struct rpc *rpc)
{
	_cleanup_(question_fini) struct question q = { .rpc = rpc };

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (!strcmp(methods[i].name, rpc->method))
			return run(&q, &methods[i]);
	return err_set(rpc->err, -ENXIO, "%.60s is not there", rpc->method);
}
