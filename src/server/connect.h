/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The framing of requests and responses over HTTP: Connect's unary calls and its errors, plain
 * resources, and compression in both directions. Each function answers one request completely. They
 * are the framing of API methods (api.h): the function decodes and checks what surrounds a call,
 * runs the handler, and writes its response or error. The response to a wrong method or content
 * type is a bare 405 or 415, as in Pyroscope.
 */
#include <stdbool.h>

#include "server/rpc.h"

/*
 * A unary call in protobuf or JSON; gRPC requests are passed on to grpc_call(). The response has
 * the request's content type. Connect-Protocol-Version is optional; any other value than 1 is an
 * error.
 */
void connect_call(struct rpc *rpc, rpc_fn run);

/* A unary call in JSON only. */
void connect_call_json(struct rpc *rpc, rpc_fn run);

/*
 * An upload of any content type. A body that cannot be read is answered with 422, as clients of
 * /ingest expect.
 */
void connect_upload(struct rpc *rpc, rpc_fn run);

/*
 * OTLP over HTTP in protobuf or JSON, depending on the content type, which the response has too.
 * Errors are a google.rpc.Status with the statuses of OTLP. 415 for any other content type.
 */
void connect_otlp(struct rpc *rpc, rpc_fn run);

/* A GET without a body, or a POST with one. */
void connect_resource(struct rpc *rpc, rpc_fn run);

/* A GET without a body. HEAD is accepted; the HTTP server sends no body for it. */
void connect_get(struct rpc *rpc, rpc_fn run);

/* True if the method of a request is @method, or HEAD for GET. Otherwise answers with 405. */
bool connect_accepts_method(struct rpc *rpc, const char *method);

/* True if the request's Accept-Encoding includes gzip. */
bool connect_accepts_gzip(const struct rpc *rpc);

/*
 * Answers with the error @r, which is below 0, and the message in rpc->err. Counts the error,
 * replaces whatever the handler wrote, and sets status, code and message in Connect's JSON form.
 */
void connect_refuse(struct rpc *rpc, int r);

/* Refuses an OTLP request in the same way: with a google.rpc.Status in the type of the request. */
void connect_refuse_otlp(struct rpc *rpc, int r);

/*
 * Compresses the response if the client accepts gzip and the body is large enough. Must be called
 * last. Responses with trailers (gRPC) are not compressed, since their frames would need a flag.
 */
void connect_compress(struct rpc *rpc);
