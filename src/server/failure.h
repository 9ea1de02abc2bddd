/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Maps the -errno of a handler to statuses of HTTP, Connect and gRPC. A handler chooses the -errno
 * that fits best; failures.def is the only place that knows statuses. An errno that it does not
 * list is a failure inside the server, to which every protocol responds so that the client repeats
 * the request.
 */
#include <stddef.h>

#include "server/counters.h"

struct buf;
struct rpc;

struct failure {
	const char *cause;       /* for the documentation */
	int error;               /* the negative errno; 0 for all others */
	int status;              /* HTTP status */
	int otlp;                /* HTTP status of OTLP */
	const char *code;        /* Connect's error code */
	int grpc;                /* value of grpc-status */
	int retry_s;             /* 0: the same request cannot succeed */
	const char *retry_after; /* the same as text */
	enum counter counter;    /* counted in addition to COUNTER_REFUSED */
};

/* All rows of failures.def. */
extern const struct failure failures[];
extern const size_t n_failures;

/* Returns the row of @r, which is below 0. */
const struct failure *failure_of(int r);

/* Does what failure_of() does, and counts the failure. Call it once per refused request. */
const struct failure *failure_record(struct rpc *rpc, int r);

/* The text for a client: the reason in @rpc, or that of @r. */
const char *failure_message(const struct rpc *rpc, int r);

/* Appends a google.rpc.Status with @message and, if @f can be retried, a RetryInfo. */
void failure_put_status(const struct failure *f, const char *message, struct buf *out);

/*
 * Limit of a decompressed body in bytes: an eighth of the memory budget, at most 128 MiB. A client
 * can make the server allocate that much beyond the body that was admitted.
 */
size_t request_max_decompressed(const struct rpc *rpc);
