/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which method is which, and reading its request: the one or two queries
 * that it has are checked before the method runs.
 */
#include "server/view.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "net/http_server.h"

enum { MAX_ROWS = 100000 };

/* The fields of a query, at one side of the request. */
#define SIDE_FIELD(s, json, kind, member)                                                          \
	{                                                                                          \
		0, json, kind, offsetof(struct view_request, side[s].member), NULL, NULL           \
	}
#define VIEW_FIELD(json, kind, member)                                                             \
	{                                                                                          \
		0, json, kind, offsetof(struct view_request, member), NULL, NULL                   \
	}
#define INNER(json, member, message)                                                               \
	{                                                                                          \
		0, json, MESSAGE_INNER, offsetof(struct view_request, member), message, NULL       \
	}

static const struct message_field query_fields[] = {
	REQUEST_FIELD(0, "profileTypeID", MESSAGE_STRING, type),
	REQUEST_FIELD(0, "labelSelector", MESSAGE_STRING, selector),
	REQUEST_FIELD(0, "start", MESSAGE_INT, start),
	REQUEST_FIELD(0, "end", MESSAGE_INT, end),
	REQUEST_FIELD(0, "callSite", MESSAGE_STRINGS, call_site),
};
static const struct message query_message = MESSAGE_OF(query_fields, struct request);

static const struct message_field function_fields[] = {
	{ 0, "name", MESSAGE_STRING, 0 * sizeof(char *), NULL, NULL },
	{ 0, "binary", MESSAGE_STRING, 1 * sizeof(char *), NULL, NULL },
	{ 0, "kind", MESSAGE_STRING, 2 * sizeof(char *), NULL, NULL },
};
static const struct message function_message = { function_fields, 3, 3 * sizeof(char *) };

/* No two methods mean different things by one name: a table does for all. */
static const struct message_field view_fields[] = {
	SIDE_FIELD(SIDE_LEFT, "profileTypeID", MESSAGE_STRING, type),
	SIDE_FIELD(SIDE_LEFT, "labelSelector", MESSAGE_STRING, selector),
	SIDE_FIELD(SIDE_LEFT, "start", MESSAGE_INT, start),
	SIDE_FIELD(SIDE_LEFT, "end", MESSAGE_INT, end),
	SIDE_FIELD(SIDE_LEFT, "callSite", MESSAGE_STRINGS, call_site),
	INNER("left", side[SIDE_LEFT], &query_message),
	INNER("right", side[SIDE_RIGHT], &query_message),
	INNER("function", function, &function_message),
	VIEW_FIELD("sort", MESSAGE_STRING, sort),
	VIEW_FIELD("search", MESSAGE_STRING, search),
	VIEW_FIELD("label", MESSAGE_STRING, label),
	VIEW_FIELD("by", MESSAGE_STRINGS, by),
	VIEW_FIELD("maxNodes", MESSAGE_INT, max_nodes),
	VIEW_FIELD("limit", MESSAGE_INT, limit),
	VIEW_FIELD("cellMs", MESSAGE_INT, cell_ms),
	VIEW_FIELD("pid", MESSAGE_INT, pid),
	VIEW_FIELD("tid", MESSAGE_INT, tid),
	VIEW_FIELD("step", MESSAGE_DOUBLE, step),
	VIEW_FIELD("normalize", MESSAGE_BOOL, normalize),
};
static const struct message view_message = MESSAGE_OF(view_fields, struct view_request);

static const struct method {
	const char *name;
	int (*run)(struct view *v);
	size_t n_queries;
	int (*check)(struct query *q, const struct request *rq, struct rpc *rpc);
} methods[] = {
	{ "Tree", view_tree, 1, query_values },
	{ "Diff", view_diff, 2, query_values },
	{ "Functions", view_functions, 1, query_values },
	{ "Sandwich", view_sandwich, 1, query_values },
	{ "Movers", view_movers, 2, query_values },
	{ "Groups", view_groups, 1, query_values },
	{ "Executables", view_executables, 1, query_values },
	{ "Cells", view_cells, 1, query_values },
	{ "Threads", view_threads, 1, query_values },
	{ "Thread", view_thread, 1, query_values },
	{ "Storage", view_storage, 0, NULL },
	{ "Targets", view_targets, 1, query_any },
};

static void view_fini(struct view *v)
{
	message_memory_fini(&v->memory);
	for (int i = 0; i < SIDES; i++)
		query_fini(&v->query[i]);
}

int view_limit(struct view *v, size_t normal, size_t *out)
{
	if (v->rq.limit < 0 || v->rq.limit > MAX_ROWS)
		return query_bad(v->rpc, "limit is negative or beyond 100000");
	*out = v->rq.limit ? (size_t)v->rq.limit : normal;
	return 0;
}

static int run(struct view *v, const struct method *m)
{
	struct rpc *rpc = v->rpc;
	int r = message_read(&view_message, true, rpc->body, rpc->len, &v->memory, &v->rq,
			     rpc->err);

	for (size_t i = 0; r == 0 && i < m->n_queries; i++) {
		struct request *side = &v->rq.side[i];

		side->selector = side->selector ? side->selector : "{}";
		r = m->check(&v->query[i], side, rpc);
	}
	if (r < 0)
		return r;
	v->json = json_to(&rpc->rs->body);
	r = m->run(v);
	return r < 0 ? r : buf_error(&rpc->rs->body);
}

int view_rpc(struct rpc *rpc)
{
	_cleanup_(view_fini) struct view v = { .rpc = rpc };

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (!strcmp(methods[i].name, rpc->method))
			return run(&v, &methods[i]);
	return err_set(rpc->err, -ENXIO, "%.60s is not there", rpc->method);
}
