/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* cameo.v1.PageService: what the web page asks beyond Pyroscope's contract (docs/api.md). */
#include "base/json.h"
#include "server/question.h"

/* A request on its way; SIDE_LEFT is the only one but for methods that compare. */
enum { SIDE_LEFT, SIDE_RIGHT, SIDES };

struct view_request {
	struct request side[SIDES];
	struct {
		const char *name, *binary, *kind;
	} function;
	const char *sort, *search, *label;
	struct message_strings by;
	int64_t max_nodes, limit, cell_ms, pid, tid;
	double step;
	bool normalize;
};

struct view {
	struct rpc *rpc;
	struct message_memory memory;
	struct view_request rq;
	struct query query[SIDES];
	struct json json;
};

/* The methods: 0 and the answer is written, -errno. */
int view_tree(struct view *v);
int view_diff(struct view *v);
int view_sandwich(struct view *v);
int view_functions(struct view *v);
int view_movers(struct view *v);
int view_executables(struct view *v);
int view_groups(struct view *v);
int view_targets(struct view *v);
int view_cells(struct view *v);
int view_threads(struct view *v);
int view_thread(struct view *v);
int view_storage(struct view *v);

/* For them: how many rows, where 0 in the request is @normal. */
int view_limit(struct view *v, size_t normal, size_t *out);

/* "key": v */
static inline void view_int(struct view *v, const char *key, int64_t value)
{
	json_key(&v->json, key);
	json_int(&v->json, value);
}

static inline void view_str(struct view *v, const char *key, const char *value)
{
	json_key(&v->json, key);
	json_str(&v->json, value);
}
