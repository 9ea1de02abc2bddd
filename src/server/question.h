/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A request on its way to the store. All methods share one struct of request
 * fields; each has a table of which field is which.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "query/selector.h"
#include "server/message.h"
#include "server/rpc.h"
#include "store/store.h"

struct profile;
struct stacks;

struct request {
	const char *type, *selector, *name;
	struct message_strings matchers, label_names, group_by, call_site, spans, ids;
	int64_t start, end, max_nodes, format, aggregation, limit, heatmap;
	double step;
};

/* What of a request chooses profiles, checked. */
struct query {
	const struct request *rq;
	struct selector selector;
	struct store_select sel;
	struct store_type type;
	char *type_text;
};

void query_fini(struct query *q);

/*
 * Check and take over: of a range and matchers; of a range, a selector and maybe a type; of all
 * three. 0, -errno.
 */
int query_labels(struct query *q, const struct request *rq, struct rpc *rpc);
int query_any(struct query *q, const struct request *rq, struct rpc *rpc);
int query_values(struct query *q, const struct request *rq, struct rpc *rpc);

/* The chosen profiles merged: as stacks, by names only or by all that is known; as a profile. */
int query_stacks(struct query *q, bool names_only, struct rpc *rpc, struct stacks **out);
int query_profile(struct query *q, struct rpc *rpc, struct profile **out);

/* Of merged stacks, only what lies below the request's call site, if it has one. */
int query_keep_call_site(const struct query *q, struct stacks *s);

/* What the store said, as the client may know it: if that is damaged it's not the request's fault.
 */
int query_asked(struct rpc *rpc, int r);

int query_bad(struct rpc *rpc, const char *what); /* -EINVAL */

/* How many nodes an answer may have; 0 in the request is @normal. */
int query_max_nodes(const struct request *rq, int64_t normal, struct rpc *rpc, uint32_t *out);

/* Tables of fields. */
#define REQUEST_FIELD(number, json, kind, member)                                                  \
	{                                                                                          \
		number, json, kind, offsetof(struct request, member), NULL, NULL                   \
	}

/* A message of the fields in the array @a, read into the struct @type. */
#define MESSAGE_OF(a, type)                                                                        \
	{                                                                                          \
		a, sizeof(a) / sizeof((a)[0]), sizeof(type)                                        \
	}
