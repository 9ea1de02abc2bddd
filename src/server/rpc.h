/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A request in progress, as handlers see it. A handler fills rs and returns 0, or returns -errno
 * with the reason in err. It runs in a worker thread; everything is valid during the call only.
 * Fields that only some methods have are NULL in others: rq and rs are NULL in requests of the
 * local agent. A handler may set the content type, headers and body of rs, never the status, which
 * the framing derives from the result.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "server/client.h"
#include "server/response.h"
#include "store/store.h"

struct access;
struct agents;
struct api_method;
struct counters;
struct err;
struct http_request;
struct http_response;
struct http_server;
struct ingest_symbolizer;
struct latency;
struct query_result;
struct query_results;
struct quota;
struct readiness;
struct server_options;
struct store;
struct tenant_limits;

enum { RPC_QUESTION_MAX = 400 };

struct rpc {
	struct store *store;
	struct access *access; /* or NULL: no credentials are required */
	struct agents *agents;
	struct quota *quota;           /* or NULL: series are not limited */
	struct query_results *results; /* or NULL: nothing is shared */
	struct query_result *result;   /* of this request (query_results.h); or NULL */
	struct tenant_limits *limits;  /* or NULL: no rates apply */
	struct readiness *readiness;
	struct ingest_symbolizer *symbolizer; /* or NULL: profiles are stored unmodified */
	const struct server_options *opt;
	struct counters *counters;
	const struct latency *latency; /* for /metrics */
	struct client client; /* who sent the request; everything is allowed without credentials */
	const char *tenant;   /* valid; set for methods about a tenant */
	struct store *sink;   /* the store, for methods that may change it; otherwise NULL */
	struct http_server *_Atomic const *http; /* the server, for metrics; set once it serves */
	const struct http_request *rq;
	const struct api_method *api; /* the method called */
	const void *body;             /* decompressed; NULL if there is none */
	size_t len;                   /* of body, in bytes */
	bool json;                    /* the request and the response are JSON, not protobuf */
	/*
	 * Claims memory for @bytes of expanded data until the end of the request; its
	 * form is that of struct codec_limits. NULL in requests of the local agent.
	 */
	int (*claim)(void *ctx, size_t bytes, struct err *err);
	/* Claims memory for a profile that is made of such data; or NULL. */
	int (*claim_profile)(void *ctx, size_t bytes, struct err *err);
	void *claim_ctx; /* of both */
	struct http_response *rs;
	struct err *err;                 /* never NULL; its message is sent to the client */
	struct store_read read;          /* what the queries of the request have read */
	char question[RPC_QUESTION_MAX]; /* its selection, for the slow-query log */
};

/*
 * A handler. Returns 0, or a negative errno that failures.def maps to a status, or RPC_MOVED. A
 * request that it has moved is passed to it again, from the start.
 */
typedef int (*rpc_fn)(struct rpc *rpc);

/*
 * The result of a handler that has moved its request to another pool (http_request_move()), where
 * it is called again. It must be returned at once and is not a failure.
 */
#define RPC_MOVED (-EINPROGRESS)

/*
 * Handlers for what the local agent feeds into the server (server_feed()). rq and rs are NULL
 * there: the handlers write no response.
 */
int otlp_own(struct rpc *rpc);      /* an OTLP request whose attributes are labels unmodified */
int agents_report(struct rpc *rpc); /* a status report */
