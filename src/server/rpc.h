/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A request in progress, as handlers see it. A handler fills rs and returns 0, or returns -errno
 * with the reason in err. It runs in a worker thread; everything is valid during the call only.
 * Fields that only some methods have are NULL in others: rq and rs are NULL in requests of the
 * local agent. A handler may set the content type, headers and body of rs, never the status, which
 * the framing derives from the result.
 */
#include <stdbool.h>
#include <stddef.h>

#include "server/client.h"
#include "server/response.h"
#include "store/store.h"

struct agents;
struct api_method;
struct counters;
struct err;
struct http_request;
struct http_response;
struct ingest_symbolizer;
struct latency;
struct quota;
struct readiness;
struct server_options;
struct store;

enum { RPC_QUESTION_MAX = 400 };

struct rpc {
	struct store *store;
	struct agents *agents;
	struct quota *quota; /* or NULL */
	struct readiness *readiness;
	struct ingest_symbolizer *symbolizer; /* or NULL: profiles are stored unmodified */
	const struct server_options *opt;
	struct counters *counters;
	const struct latency *latency; /* for /metrics */
	struct client client; /* who sent the request; everything is allowed without credentials */
	const char *tenant;   /* valid; set for methods about a tenant */
	struct store *sink;   /* the store, for methods that may change it; otherwise NULL */
	const struct http_request *rq;
	const struct api_method *api; /* the method called */
	const void *body;             /* decompressed */
	size_t len;
	bool json; /* the request and the response are JSON, not protobuf */
	struct http_response *rs;
	struct err *err;
	struct store_read read;          /* what the queries of the request have read */
	char question[RPC_QUESTION_MAX]; /* its selection, for the slow-query log */
};

typedef int (*rpc_fn)(struct rpc *rpc);

/* Handlers for what the local agent feeds into the server (server_feed()). */
int otlp_own(struct rpc *rpc);      /* an OTLP request whose attributes are labels unmodified */
int agents_report(struct rpc *rpc); /* a status report */
