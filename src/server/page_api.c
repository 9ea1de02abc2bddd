/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of cameo.v1.PageService and the fields of their requests. A request is decoded and
 * its one or two queries are validated before the method runs. Each method has a table of the
 * fields that it reads, and refuses all others: ignoring a field would change the query without the
 * client's knowledge.
 *
 * function_fields and the struct that they fill have three strings in the same order.
 */
#include "server/page_api.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "net/http_server.h"
#include "server/api.h"
#include "server/connect.h"

enum { MAX_ROWS = 100000 };

/* A field of the query on side @s of the request. */
#define SIDE_FIELD(s, json, kind, member)                                                          \
	{                                                                                          \
		0, json, kind, offsetof(struct page_api_request, side[s].member), NULL, NULL       \
	}
#define PAGE_FIELD(json, kind, member)                                                             \
	{                                                                                          \
		0, json, kind, offsetof(struct page_api_request, member), NULL, NULL               \
	}
#define INNER(json, member, message)                                                               \
	{                                                                                          \
		0, json, MESSAGE_INNER, offsetof(struct page_api_request, member), message, NULL   \
	}

/* The fields of a query, in the request itself. */
#define QUERY_FIELDS                                                                               \
	SIDE_FIELD(SIDE_LEFT, "profileTypeID", MESSAGE_STRING, type),                              \
		SIDE_FIELD(SIDE_LEFT, "labelSelector", MESSAGE_STRING, selector),                  \
		SIDE_FIELD(SIDE_LEFT, "start", MESSAGE_INT, start),                                \
		SIDE_FIELD(SIDE_LEFT, "end", MESSAGE_INT, end)

/* A message of which a field that is not in the array @a is refused. */
#define STRICT(a, type)                                                                            \
	{                                                                                          \
		a, sizeof(a) / sizeof((a)[0]), sizeof(type), true                                  \
	}

static const struct message_field side_fields[] = {
	REQUEST_FIELD(0, "profileTypeID", MESSAGE_STRING, type),
	REQUEST_FIELD(0, "labelSelector", MESSAGE_STRING, selector),
	REQUEST_FIELD(0, "start", MESSAGE_INT, start),
	REQUEST_FIELD(0, "end", MESSAGE_INT, end),
};
static const struct message side_message = STRICT(side_fields, struct request);

static const struct message_field function_fields[] = {
	{ 0, "name", MESSAGE_STRING, 0 * sizeof(char *), NULL, NULL },
	{ 0, "binary", MESSAGE_STRING, 1 * sizeof(char *), NULL, NULL },
	{ 0, "kind", MESSAGE_STRING, 2 * sizeof(char *), NULL, NULL },
};
static const struct message function_message = STRICT(function_fields, const char *[3]);

#define SIDES_FIELDS                                                                               \
	INNER("left", side[SIDE_LEFT], &side_message),                                             \
		INNER("right", side[SIDE_RIGHT], &side_message)

static const struct message_field tree_fields[] = {
	QUERY_FIELDS,
	SIDE_FIELD(SIDE_LEFT, "callSite", MESSAGE_STRINGS, call_site),
	PAGE_FIELD("label", MESSAGE_STRING, label),
	PAGE_FIELD("maxNodes", MESSAGE_INT, max_nodes),
};
static const struct message_field diff_fields[] = {
	SIDES_FIELDS,
	PAGE_FIELD("maxNodes", MESSAGE_INT, max_nodes),
};
static const struct message_field functions_fields[] = {
	QUERY_FIELDS,
	PAGE_FIELD("sort", MESSAGE_STRING, sort),
	PAGE_FIELD("search", MESSAGE_STRING, search),
	PAGE_FIELD("limit", MESSAGE_INT, limit),
};
static const struct message_field sandwich_fields[] = {
	QUERY_FIELDS,
	INNER("function", function, &function_message),
	PAGE_FIELD("maxNodes", MESSAGE_INT, max_nodes),
};
static const struct message_field movers_fields[] = {
	SIDES_FIELDS,
	PAGE_FIELD("normalize", MESSAGE_BOOL, normalize),
	PAGE_FIELD("limit", MESSAGE_INT, limit),
};
static const struct message_field groups_fields[] = {
	QUERY_FIELDS,
	PAGE_FIELD("label", MESSAGE_STRING, label),
	PAGE_FIELD("limit", MESSAGE_INT, limit),
	PAGE_FIELD("step", MESSAGE_DOUBLE, step),
};
static const struct message_field executables_fields[] = {
	QUERY_FIELDS,
	PAGE_FIELD("limit", MESSAGE_INT, limit),
};
static const struct message_field heat_map_fields[] = {
	QUERY_FIELDS,
	PAGE_FIELD("cellMs", MESSAGE_INT, cell_ms),
};
static const struct message_field threads_fields[] = {
	QUERY_FIELDS,
	PAGE_FIELD("pid", MESSAGE_INT, pid),
	PAGE_FIELD("tid", MESSAGE_INT, tid),
	PAGE_FIELD("limit", MESSAGE_INT, limit),
};
static const struct message_field thread_fields[] = {
	QUERY_FIELDS,
	PAGE_FIELD("pid", MESSAGE_INT, pid),
	PAGE_FIELD("tid", MESSAGE_INT, tid),
};
static const struct message_field senders_fields[] = {
	QUERY_FIELDS,
	PAGE_FIELD("by", MESSAGE_STRINGS, by),
};

/* A method, which @check validates for each of its queries. */
struct page_method {
	int (*run)(struct page_api_call *call);
	struct message request;
	size_t n_queries;
	int (*check)(struct query *q, const struct request *rq, struct rpc *rpc);
};

static void page_api_call_fini(struct page_api_call *call)
{
	message_memory_fini(&call->memory);
	for (int i = 0; i < SIDES; i++)
		query_fini(&call->query[i]);
}

int page_api_limit(struct page_api_call *call, size_t normal, size_t *out)
{
	if (call->rq.limit < 0 || call->rq.limit > MAX_ROWS)
		return query_invalid(call->rpc, "\"limit\" must be 0 to 100000");
	*out = call->rq.limit ? (size_t)call->rq.limit : normal;
	return 0;
}

/*
 * Decodes the request, validates as many queries as the method has, and runs it. A missing selector
 * selects everything.
 */
static int run(struct page_api_call *call, const struct page_method *m)
{
	struct rpc *rpc = call->rpc;
	int r;

	call->memory.claim = rpc->claim;
	call->memory.claim_ctx = rpc->claim_ctx;
	r = message_read(&m->request, true, rpc->body, rpc->len, &call->memory, &call->rq,
			 rpc->err);
	for (size_t i = 0; r == 0 && i < m->n_queries; i++) {
		struct request *side = &call->rq.side[i];

		side->selector = side->selector ? side->selector : "{}";
		r = m->check(&call->query[i], side, rpc);
	}
	if (r < 0)
		return r;
	call->json = json_to(&rpc->rs->body);
	r = m->run(call);
	for (size_t i = 0; r == 0 && i < m->n_queries; i++)
		query_explain_empty(&call->query[i], rpc);
	return r < 0 ? r : buf_error(&rpc->rs->body);
}

static int handle(struct rpc *rpc)
{
	_cleanup_(page_api_call_fini) struct page_api_call call = { .rpc = rpc };

	return run(&call, rpc->api->args);
}

#define METHOD(name, costs, fn, fields, n_queries, check, what)                                    \
	{                                                                                          \
		.path = "/cameo.v1.PageService/" name, .framing = connect_call_json,               \
		.run = handle, .access = API_READ, .cost = costs, .doc = what,                     \
		.args = &(const struct page_method)                                                \
		{                                                                                  \
			fn, fields, n_queries, check                                               \
		}                                                                                  \
	}
#define FIELDS(a) STRICT(a, struct page_api_request)
#define NO_FIELDS                                                                                  \
	{                                                                                          \
		NULL, 0, sizeof(struct page_api_request), true                                     \
	}

static const struct api_method methods[] = {
	METHOD("Tree", API_QUERY, page_api_tree, FIELDS(tree_fields), 1, query_check_profiles,
	       "Merge profiles into a tree"),
	METHOD("Diff", API_QUERY, page_api_diff, FIELDS(diff_fields), 2, query_check_profiles,
	       "Merge two queries into two trees"),
	METHOD("Functions", API_QUERY, page_api_functions, FIELDS(functions_fields), 1,
	       query_check_profiles, "List functions by self or total value"),
	METHOD("Sandwich", API_QUERY, page_api_sandwich, FIELDS(sandwich_fields), 1,
	       query_check_profiles, "Return the callers and callees of a function"),
	METHOD("Movers", API_QUERY, page_api_movers, FIELDS(movers_fields), 2, query_check_profiles,
	       "List the functions that changed between two queries"),
	METHOD("Groups", API_QUERY, page_api_groups, FIELDS(groups_fields), 1, query_check_profiles,
	       "Sum values by the values of a label"),
	METHOD("Executables", API_QUERY, page_api_executables, FIELDS(executables_fields), 1,
	       query_check_profiles, "List executables and libraries by value"),
	METHOD("Cells", API_QUERY, page_api_heat_map, FIELDS(heat_map_fields), 1,
	       query_check_profiles, "Return the sub-second heat map of a range"),
	METHOD("Threads", API_QUERY, page_api_threads, FIELDS(threads_fields), 1,
	       query_check_profiles, "List the threads that have samples"),
	METHOD("Thread", API_QUERY, page_api_thread, FIELDS(thread_fields), 1, query_check_profiles,
	       "Return samples with their stacks and times"),
	METHOD("Storage", API_LOOKUP, page_api_storage, NO_FIELDS, 0, NULL,
	       "Return the disk space by day and kind of data"),
	METHOD("Targets", API_LOOKUP, page_api_senders, FIELDS(senders_fields), 1,
	       query_check_optional_type, "List the senders of profiles by labels"),
	{ "/cameo.v1.PageService/", connect_call_json, api_unknown_method, API_READ, API_FREE,
	  "Reject an unknown method", NULL, NULL },
};
API_LIST(page_api, methods);
