/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * cameo.v1.PageService: the API of the web page beyond Pyroscope's contract (docs/api.md). Requests
 * and responses are JSON with plain numbers; times are milliseconds since 1970 unless the name has
 * another unit. The API may change with the page, which is always of the same version.
 */
#include "base/json.h"
#include "server/query_request.h"

/* The queries of a request. Only methods that compare have SIDE_RIGHT. */
enum { SIDE_LEFT, SIDE_RIGHT, SIDES };

/*
 * The fields of all requests; those that a request lacks are NULL, empty or 0. Numbers are
 * unchecked here: each method validates the fields that it reads.
 */
struct page_api_request {
	struct request side[SIDES];
	struct {
		const char *name, *binary, *kind;
	} function; /* of Sandwich */
	const char *sort, *search, *label;
	struct message_strings by; /* labels to group by */
	int64_t max_nodes, limit;
	int64_t cell_ms;  /* of the heat map */
	int64_t pid, tid; /* 0 for any */
	double step;      /* seconds */
	bool normalize;   /* compare shares */
};

/* One request, in one thread. Members of query borrow from rq. */
struct page_api_call {
	struct rpc *rpc;
	struct message_memory memory; /* owns the strings of rq */
	struct page_api_request rq;
	struct query query[SIDES]; /* validated, as many as the method has */
	struct json json;          /* of the response's body */
};

/*
 * The methods (page_api.c). They write one JSON value and return 0 or -errno. Nothing may be
 * written before everything that can fail has succeeded, except memory errors, which stick to the
 * buffer: an error response then replaces what was written.
 */
int page_api_tree(struct page_api_call *call);
int page_api_diff(struct page_api_call *call);
int page_api_sandwich(struct page_api_call *call);
int page_api_functions(struct page_api_call *call);
int page_api_movers(struct page_api_call *call);
int page_api_executables(struct page_api_call *call);
int page_api_groups(struct page_api_call *call);
int page_api_senders(struct page_api_call *call);
int page_api_heat_map(struct page_api_call *call);
int page_api_threads(struct page_api_call *call);
int page_api_thread(struct page_api_call *call);
int page_api_storage(struct page_api_call *call);

/* The number of rows to return; 0 in the request means @normal. Returns 0 or -EINVAL. */
int page_api_limit(struct page_api_call *call, size_t normal, size_t *out);
