/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * gRPC's unary calls: one framed message in each direction, the status in the trailers. Streams are
 * not supported. The methods are those of the registry (api.h), under the same paths as over HTTP;
 * errors of a call are trailers, so the HTTP status is 200 except for a wrong content type (415).
 */
#include <stdbool.h>

#include "server/rpc.h"

/* True if the request's content type is gRPC's. */
bool grpc_is(const struct rpc *rpc);

/* Reads the message, runs the handler and sends its response. */
void grpc_call(struct rpc *rpc, rpc_fn run);

/*
 * Answers with the error @r, which is below 0, and the message in rpc->err. Replaces the response:
 * the body is empty and grpc-status and grpc-message are trailers.
 */
void grpc_refuse(struct rpc *rpc, int r);
