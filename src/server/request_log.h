/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Two logs of requests: the access log with a line for each, in a file, and the slow-query log with
 * a line for each query that took long, for the server's own log. Values are written as logfmt or
 * JSON; text of clients is escaped and bounded. The access log is written by a thread of its own
 * (log_writer.h). Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct buf;
struct counters;
struct err;
struct http_request;
struct http_response;
struct request_log;
struct rpc;

struct request_log_options {
	const char *path;          /* of the access log, "-" for standard output; NULL: none */
	bool json;                 /* instead of logfmt */
	struct counters *counters; /* counts lost lines */
};

/* Strings of @opt are borrowed. Returns the same values as log_writer_open(). */
int request_log_open(struct request_log **out, const struct request_log_options *opt,
		     struct err *err);
/* Writes the lines that wait, for at most two seconds. */
void request_log_close(struct request_log *log);

DEFINE_FREEP(struct request_log, request_log_close)

/*
 * Queues a line of the access log, without waiting. @rpc is NULL for a request that was refused
 * before it had one. Lines that cannot be written are counted and lost.
 */
void request_log_add(struct request_log *log, const struct http_request *rq, int status,
		     const struct http_response *rs, const struct rpc *rpc, int64_t ns);

/*
 * Appends a line about a slow query, without a newline: its selection, how much it read, and how
 * long it took.
 */
void request_log_describe(const struct rpc *rpc, int64_t ns, struct buf *out);
