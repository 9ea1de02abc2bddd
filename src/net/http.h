/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Requests and responses of the HTTP server, as its handler sees them, and the server's options. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/buf.h"

struct http_request;

enum { HTTP_MAX_SUBJECT = 128 };

/* The client at the other end of a connection. A value. */
struct http_peer {
	struct sockaddr_storage addr;
	socklen_t addr_len;
	bool is_encrypted;
	char subject[HTTP_MAX_SUBJECT]; /* common name of its verified certificate; "" if none */
};

enum { HTTP_MAX_HEADERS = 12, HTTP_MAX_TRAILERS = 3, HTTP_MAX_POOLS = 8, HTTP_MAX_GROUP = 80 };

struct http_header {
	const char *name, *value; /* borrowed until the response is sent */
};

/*
 * The server zeroes it but for the status. Strings must be constant or live in the request; its
 * body does not live that long.
 */
struct http_response {
	int status;               /* 200 unless changed */
	const char *content_type; /* NULL: none */
	struct http_header headers[HTTP_MAX_HEADERS];
	size_t n_headers;
	struct http_header trailers[HTTP_MAX_TRAILERS]; /* HTTP/2 only */
	size_t n_trailers;
	char trailer_text[1280]; /* for their values */
	char header_text[128];   /* for the value of one header */
	struct buf body;
};

/* Adds a header; does nothing beyond HTTP_MAX_HEADERS. */
static inline void http_response_add(struct http_response *rs, const char *name, const char *value)
{
	if (rs->n_headers < HTTP_MAX_HEADERS)
		rs->headers[rs->n_headers++] = (struct http_header){ name, value };
}

static inline void http_response_add_trailer(struct http_response *rs, const char *name,
					     const char *value)
{
	if (rs->n_trailers < HTTP_MAX_TRAILERS)
		rs->trailers[rs->n_trailers++] = (struct http_header){ name, value };
}

/* Called from several threads at once. Fills in the response. */
typedef void (*http_handler_fn)(void *ctx, const struct http_request *rq, struct http_response *rs);

/*
 * A pool of worker threads with its own queue. Requests of different pools do not wait for each
 * other's threads.
 */
struct http_pool_options {
	const char *name; /* the name of its threads, at most 15 characters; constant */
	/* 0: requests run in the thread that queues them, as in fuzz/api.c */
	unsigned int n_workers;
	unsigned int max_queue; /* waiting requests; half of them may belong to one flow */
	int nice;               /* added to the nice value of its threads */
	bool is_query;          /* a request is dropped when its client has disconnected */
};

/* Why a request is refused without its handler. */
enum http_refusal {
	HTTP_REFUSED_REQUEST, /* its framing, or options->admit */
	HTTP_REFUSED_BODY,    /* the body is too large */
	HTTP_REFUSED_MEMORY,  /* all bodies together are too large */
	HTTP_REFUSED_QUEUE,   /* the queue of its pool is full */
	HTTP_REFUSED_STOP,    /* the server is shutting down */
	HTTP_REFUSED_GONE,    /* the client has disconnected while its query waited */
};

/*
 * The decision about a request whose headers are complete. It is refused with @status and
 * @message unless @status is 0. The message is constant text without characters that JSON escapes.
 */
struct http_admission {
	int status;
	const char *message;
	unsigned int pool; /* index in the options' pools */
	unsigned int
		retry_s; /* of a refusal: seconds after which a repetition may succeed; 0: none */
	/*
	 * The decision takes long: admit() is called again in a worker of @pool, where it may
	 * block. The request waits meanwhile, and nothing more is read from its connection.
	 */
	bool later;
	bool no_challenge;          /* 401 is sent without WWW-Authenticate */
	bool no_body;               /* what arrives as the body is counted and discarded */
	size_t max_body;            /* a limit below that of the options; 0: none */
	char group[HTTP_MAX_GROUP]; /* not empty: options->begin is called for this group */
	void *token;                /* of options->begin; NULL: none */
	uint64_t flow; /* requests of equal flows share a part of the queue: a hash of the tenant */
};

/* The memory that a connection may take without requests over HTTP/2, bodies and responses. */
enum { HTTP_CONNECTION_BYTES = 40 * 1024, HTTP_TLS_CONNECTION_BYTES = 96 * 1024 };

/* Strings and files of TLS are borrowed until the server is closed. */
struct http_server_options {
	const char *host;      /* numeric, or "localhost" */
	uint16_t port;         /* 0: any free port */
	const char *grpc_host; /* second address, for gRPC; NULL: none */
	uint16_t grpc_port;
	const struct http_pool_options *pools; /* at least one, at most HTTP_MAX_POOLS; copied */
	size_t n_pools;
	unsigned int max_connections;
	unsigned int idle_seconds;
	size_t max_headers; /* of all requests over HTTP/2, in memory; 0: no limit */
	size_t max_body;    /* larger requests get status 413 */
	size_t max_memory;  /* of all bodies together; beyond it status 429 */
	size_t max_unsent;  /* of all responses that clients have not received; 0: none */
	const char *tls_cert, *tls_key; /* PEM; NULL: no TLS */
	const char *tls_client_ca;      /* PEM; verifies certificates of clients; or NULL */
	http_handler_fn handler;
	/* For requests that are refused without the handler; or NULL. */
	void (*refused)(void *ctx, const struct http_request *rq, enum http_refusal why,
			int status);
	/*
	 * Called when the headers of a request are complete, before memory is spent on its body;
	 * @out is zeroed. Unless @may_block, it runs in a thread of input and output. NULL admits
	 * all to the first pool.
	 */
	void (*admit)(void *ctx, const struct http_request *rq, bool may_block,
		      struct http_admission *out);
	/*
	 * Called when a request with a group is complete and about to wait for a worker. Sets
	 * @out->token, or refuses as admit() does. In a thread of input and output.
	 */
	void (*begin)(void *ctx, const struct http_request *rq, struct http_admission *out);
	/*
	 * Ends what begin() began, as soon as the response has been computed: how fast a client
	 * sends its request and reads the response has no influence. Any thread.
	 */
	void (*released)(void *ctx, void *token);
	void (*unread)(void *ctx); /* a client that does not read is disconnected; or NULL */
	void *ctx;
};

/* The parts of a request are borrowed until the handler returns. */
const char *http_request_method(const struct http_request *rq);
const char *http_request_path(const struct http_request *rq);
const char *http_request_header(const struct http_request *rq, const char *name); /* or NULL */
/*
 * The host and port that a client addresses: those of the target if it is a whole URL or of HTTP/2,
 * which count more than Host (RFC 9112, 3.2.2; RFC 9113, 8.3.1). NULL if none is sent.
 */
const char *http_request_host(const struct http_request *rq);
const char *http_request_arg(const struct http_request *rq, const char *name); /* or NULL */
/* Calls @fn for each argument, repeated names included. A value is never NULL. */
typedef void (*http_arg_fn)(void *ctx, const char *name, const char *value);
void http_request_each_arg(const struct http_request *rq, http_arg_fn fn, void *ctx);
const struct http_peer *http_request_peer(const struct http_request *rq);
/* The CLOCK_MONOTONIC time at which the request was complete and began to wait for a worker. */
int64_t http_request_complete_ns(const struct http_request *rq);
const void *http_request_body(const struct http_request *rq, size_t *out_len);

/* The pool in which the handler runs. */
unsigned int http_request_pool(const struct http_request *rq);

/*
 * Returns true if the client has disconnected, so that the response will not be read and the
 * handler may stop. Any thread; it becomes true about a second after the connection has ended.
 */
bool http_request_is_abandoned(const struct http_request *rq);
/*
 * Returns the same as a variable, for code that does not know requests. It lives as long as the
 * request.
 */
const atomic_bool *http_request_abandoned(const struct http_request *rq);

/*
 * Moves the request to @pool, where its handler is called again; the handler must then return
 * without a response. Returns false if the queue of that pool is full; then the handler continues.
 */
bool http_request_move(const struct http_request *rq, unsigned int pool);
/* Returns true if the request was moved, so that the handler must return. */
bool http_request_is_moving(const struct http_request *rq);
