/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests are validated before any other work, so a refused request costs no more than its
 * parsing. Messages name the field of the request that is wrong.
 */
#include "server/query_request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "flame/merged_stacks.h"
#include "flame/prune.h"
#include "net/http_server.h"
#include "profile/profile.h"
#include "query/export.h"
#include "query/grouped_merge.h"
#include "query/time_heat_map.h"
#include "server/query_results.h"
#include "server/server_options.h"
#include "store/traced.h"

/* A value of Pyroscope's ExemplarType. */
enum { EXEMPLARS_NONE = 1 };

#define NORMAL_QUERY_NS (30 * (int64_t)CLOCK_SECOND_NS)

void query_fini(struct query *q)
{
	selector_fini(&q->selector);
	free(q->type_text);
	free(q->traced);
}

int query_invalid(struct rpc *rpc, const char *what)
{
	return err_set(rpc->err, -EINVAL, "%s", what);
}

/* A sixth part "delta" is accepted, since older clients add it. */
static int parse_type(struct query *q, struct rpc *rpc)
{
	const char **parts[] = { &q->type.name, &q->type.type, &q->type.unit, &q->type.period_type,
				 &q->type.period_unit };
	char *rest;
	size_t n = 0;

	q->type_text = strdup(q->rq->type ? q->rq->type : "");
	if (!q->type_text)
		return -ENOMEM;
	for (rest = q->type_text; rest && n < 5;)
		*parts[n++] = strsep(&rest, ":");
	if (n < 5 || (rest && strcmp(rest, "delta") != 0))
		return query_invalid(
			rpc,
			"invalid profile type: expected NAME:TYPE:UNIT:PERIOD_TYPE:PERIOD_UNIT");
	q->sel.type = &q->type;
	return 0;
}

/* Nanoseconds per unit of grpc-timeout. */
static int64_t timeout_unit(char unit)
{
	static const struct {
		char name;
		int64_t ns;
	} all[] = {
		{ 'H', 3600LL * CLOCK_SECOND_NS },
		{ 'M', 60LL * CLOCK_SECOND_NS },
		{ 'S', CLOCK_SECOND_NS },
		{ 'm', CLOCK_MS_NS },
		{ 'u', 1000 },
		{ 'n', 1 },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].name == unit)
			return all[i].ns;
	return 0;
}

/*
 * A client's time limit: Connect-Timeout-Ms has at most ten digits, grpc-timeout eight and a unit.
 * *@out is unchanged without one.
 */
static int client_limit(const struct rpc *rpc, int64_t *out)
{
	const char *ms = http_request_header(rpc->rq, "Connect-Timeout-Ms");
	const char *grpc = http_request_header(rpc->rq, "grpc-timeout"), *text = ms ? ms : grpc;
	size_t n = text ? strspn(text, "0123456789") : 0;
	int64_t unit;

	if (!text)
		return 0;
	unit = ms ? CLOCK_MS_NS : n && text[n] && !text[n + 1] ? timeout_unit(text[n]) : 0;
	if (!n || n > (ms ? 10u : 8u) || !unit || (ms && text[n]))
		return err_set(rpc->err, -EINVAL, "header %s: \"%.40s\" is not a time limit",
			       ms ? "Connect-Timeout-Ms" : "grpc-timeout", text);
	if (__builtin_mul_overflow((int64_t)strtoll(text, NULL, 10), unit, out))
		*out = INT64_MAX;
	return 0;
}

/* The deadline follows from the server's time limit, or from the client's if that is shorter. */
static int set_deadline(struct query *q, const struct rpc *rpc)
{
	int64_t limit = rpc->opt->max_query_ns ? rpc->opt->max_query_ns : NORMAL_QUERY_NS;
	int64_t own = limit;
	int r = client_limit(rpc, &own);

	q->sel.deadline_ns = (int64_t)clock_monotonic_ns() + (own < limit ? own : limit);
	return r;
}

/*
 * Appends the selection to rpc->question, for the slow-query log; a request may have two queries.
 */
static void note_question(const struct request *rq, struct rpc *rpc)
{
	size_t len = strlen(rpc->question);
	const char *selector = rq->selector       ? rq->selector
			       : rq->matchers.len ? rq->matchers.data[0]
						  : "";

	snprintf(rpc->question + len, sizeof(rpc->question) - len,
		 "%s%s %s from %" PRId64 " until %" PRId64, len ? "; " : "",
		 rq->type ? rq->type : "any type", selector ? selector : "", rq->start, rq->end);
}

/* The end is a millisecond that belongs to the range, so the range ends at its last nanosecond. */
static int parse_range(struct query *q, struct rpc *rpc)
{
	const struct request *rq = q->rq;

	if (rq->start <= 0 || rq->end <= 0)
		return query_invalid(rpc, "\"start\" and \"end\" are missing");
	if (rq->start > rq->end)
		return query_invalid(rpc, "\"start\" is after \"end\"");
	if (rq->end > INT64_MAX / CLOCK_MS_NS - 1)
		return query_invalid(rpc, "\"end\" is out of range");
	q->sel.start_ns = rq->start * CLOCK_MS_NS;
	q->sel.end_ns = rq->end * CLOCK_MS_NS + CLOCK_MS_NS - 1;
	if (rpc->opt->max_range_ns && q->sel.end_ns - q->sel.start_ns > rpc->opt->max_range_ns)
		return err_set(rpc->err, -ERANGE,
			       "the range exceeds the limit of this server (--query-days)");
	q->sel.max_nodes = rpc->opt->max_nodes;
	q->sel.cancelled = http_request_abandoned(rpc->rq);
	q->sel.read = &rpc->read;
	note_question(rq, rpc);
	query_results_note_range(rpc, q->sel.start_ns - TIME_HEAT_MAP_LONGEST_WINDOW_NS,
				 q->sel.end_ns);
	return set_deadline(q, rpc);
}

/* Matchers accumulate: a request of labels has several selectors, all of which must match. */
static int parse_selector(struct query *q, const char *text, struct rpc *rpc)
{
	int r = selector_parse(&q->selector, text, strlen(text), rpc->err);

	q->sel.matchers = q->selector.data;
	q->sel.n_matchers = q->selector.len;
	return r;
}

/* A response that lacks a requested addition would look like one without data. */
static int refuse_unsupported(const struct request *rq, struct rpc *rpc)
{
	const struct {
		bool used;
		const char *why;
	} all[] = {
		{ rq->spans.len && rq->traces.len,
		  "\"spanSelector\" and \"traceIdSelector\" in one request are not supported" },
		{ rq->exemplars > EXEMPLARS_NONE,
		  "\"exemplarType\" must be NONE: exemplars are not "
		  "supported" },
		{ rq->async || (rq->async_id && rq->async_id[0]), "\"async\" is not supported" },
		{ rq->pgo_keep || rq->pgo_aggregate, "\"goPgo\" is not supported" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].used)
			return err_set(rpc->err, -ENOSYS, "%s", all[i].why);
	return 0;
}

static int check_lists(const struct request *rq, struct rpc *rpc)
{
	const struct {
		const char *name;
		size_t n, max;
	} all[] = {
		{ "groupBy", rq->group_by.len, QUERY_MAX_LABELS },
		{ "labelNames", rq->label_names.len, QUERY_MAX_LABELS },
		{ "callSite", rq->call_site.len, QUERY_MAX_CALL_SITE },
		{ "profileIdSelector", rq->ids.len, QUERY_MAX_IDS },
		{ "spanSelector", rq->spans.len, QUERY_MAX_IDS },
		{ "traceIdSelector", rq->traces.len, QUERY_MAX_IDS },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].n > all[i].max)
			return err_set(rpc->err, -EINVAL, "\"%s\" has %zu elements, more than %zu",
				       all[i].name, all[i].n, all[i].max);
	return rq->limit < 0 ? query_invalid(rpc, "\"limit\" is negative") : 0;
}

int query_check_labels(struct query *q, const struct request *rq, struct rpc *rpc)
{
	int r;

	q->rq = rq;
	q->sel.tenant = rpc->tenant;
	r = check_lists(rq, rpc);
	if (r == 0)
		r = parse_range(q, rpc);
	if (r == 0 && rq->matchers.len > SELECTOR_MAX_MATCHERS)
		r = query_invalid(rpc, "more than 64 matchers");
	for (size_t i = 0; r == 0 && i < rq->matchers.len; i++)
		r = parse_selector(q, rq->matchers.data[i], rpc);
	return r;
}

int query_check_optional_type(struct query *q, const struct request *rq, struct rpc *rpc)
{
	int r;

	q->rq = rq;
	q->sel.tenant = rpc->tenant;
	r = refuse_unsupported(rq, rpc);
	if (r == 0)
		r = check_lists(rq, rpc);
	if (r == 0)
		r = parse_range(q, rpc);
	if (r == 0 && rq->type)
		r = parse_type(q, rpc);
	return r < 0 ? r : parse_selector(q, rq->selector ? rq->selector : "", rpc);
}

/* Reads ids of spans (8 bytes) or traces (16). */
static int parse_traced(struct query *q, const struct message_strings *ids, uint8_t bytes,
			const char *field, struct rpc *rpc)
{
	if (!ids->len)
		return 0;
	q->traced = calloc(ids->len, sizeof(*q->traced));
	if (!q->traced)
		return -ENOMEM;
	q->sel.traced = q->traced;
	for (; q->sel.n_traced < ids->len; q->sel.n_traced++) {
		const char *text = ids->data[q->sel.n_traced];
		struct store_trace_id *id = &q->traced[q->sel.n_traced];

		if (!text || !traced_parse_id(text, strlen(text), id) || id->len != bytes)
			return err_set(rpc->err, -EINVAL,
				       "\"%s\": \"%.40s\" is not an id of %d hexadecimal digits",
				       field, text ? text : "", 2 * bytes);
	}
	return 0;
}

/*
 * A frame of a call site without a name decodes as NULL and means "". If the type is missing,
 * parse_type() reports that.
 */
int query_check_profiles(struct query *q, const struct request *rq, struct rpc *rpc)
{
	int r = query_check_optional_type(q, rq, rpc);

	for (size_t i = 0; i < rq->call_site.len; i++)
		if (!rq->call_site.data[i])
			rq->call_site.data[i] = "";
	q->sel.ids = rq->ids.data;
	q->sel.n_ids = rq->ids.len;
	if (r == 0)
		r = parse_traced(q, &rq->spans, 8, "spanSelector", rpc);
	if (r == 0)
		r = parse_traced(q, &rq->traces, 16, "traceIdSelector", rpc);
	return r < 0 || rq->type ? r : parse_type(q, rpc);
}

int query_filter_call_site(const struct query *q, struct merged_stacks *s)
{
	const struct message_strings *site = &q->rq->call_site;

	return site->len ? merged_stacks_filter_call_site(s, site->data, site->len) : 0;
}

int query_stacks(struct query *q, bool names_only, struct rpc *rpc, struct merged_stacks **out)
{
	int r;

	q->sel.names_only = names_only;
	r = store_merge(rpc->store, &q->sel, out, rpc->err);
	q->is_empty = r == 0 && !(*out)->n_windows;
	return r < 0 ? r : query_filter_call_site(q, *out);
}

/* One series proves that the profile type is stored. */
static int stop_at_first(void *ctx, const struct store_label *labels, size_t n)
{
	return -ECANCELED;
}

/* The search for the type has the query's deadline; if it fails, the type counts as stored. */
void query_explain_empty(struct query *q, struct rpc *rpc)
{
	const struct store_select sel = { .tenant = q->sel.tenant,
					  .type = &q->type,
					  .start_ns = q->sel.start_ns,
					  .end_ns = q->sel.end_ns,
					  .deadline_ns = q->sel.deadline_ns };

	if (!q->is_empty || !q->sel.type)
		return;
	if (store_series(rpc->store, &sel, stop_at_first, NULL, NULL) == 0)
		http_response_add(rpc->rs, "X-Cameo-Empty", "unknown-profile-type");
	else
		http_response_add(rpc->rs, "X-Cameo-Empty", "no-matching-profile");
}

void query_report_ignored(const struct message_memory *memory, struct rpc *rpc)
{
	_Static_assert(sizeof(memory->ignored) <= sizeof(rpc->rs->header_text), "it must fit");
	if (!memory->ignored[0])
		return;
	memcpy(rpc->rs->header_text, memory->ignored, sizeof(memory->ignored));
	http_response_add(rpc->rs, "X-Cameo-Ignored", rpc->rs->header_text);
}

/* Grouping by a label needs one merge per value (query/grouped_merge.h). */
int query_profile(struct query *q, struct rpc *rpc, struct profile **out)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *s = NULL;
	const char *label = q->rq->group_by.len ? q->rq->group_by.data[0] : NULL;
	int r;

	if (q->rq->group_by.len > 1)
		return query_invalid(rpc, "\"groupBy\" accepts one label in this method");
	r = label ? grouped_merge(&s, rpc->store, &q->sel, label, rpc->err)
		  : query_stacks(q, false, rpc, &s);
	q->is_empty = r == 0 && !s->n_windows;
	return r < 0 ? r : export_profile(out, s, &q->type, q->sel.start_ns, label);
}

int query_max_nodes(const struct request *rq, int64_t normal, struct rpc *rpc, uint32_t *out)
{
	if (rq->max_nodes < 0 || rq->max_nodes > PRUNE_MAX_NODES)
		return query_invalid(rpc, "\"maxNodes\" must be 0 to 1048576");
	*out = (uint32_t)(rq->max_nodes ? rq->max_nodes : normal);
	return 0;
}
