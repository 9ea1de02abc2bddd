/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How requests and answers are wrapped: Connect's unary calls, its errors,
 * and compression either way.
 */
#include <stdbool.h>
#include <stddef.h>

#include "server/counters.h"

struct rpc;

/* How long a body may be when it is decompressed: an eighth of the memory, at most 128 MiB. */
size_t connect_max_decompressed(const struct rpc *rpc);

/* What an -errno is to clients. */
struct connect_failure {
	int error, status, grpc;
	const char *code;
	enum counter counter; /* beside COUNTER_REFUSED */
};

/* Counts it, too. */
const struct connect_failure *connect_failed(struct rpc *rpc, int r);

typedef int (*rpc_fn)(struct rpc *rpc);

/* A call in protobuf or JSON: answers it, with what @run says or with why not. */
void connect_call(struct rpc *rpc, rpc_fn run);

/* The same in JSON only. */
void connect_call_json(struct rpc *rpc, rpc_fn run);

/* A body of any type; one that can't be read is 422, as clients of /ingest know it. */
void connect_upload(struct rpc *rpc, rpc_fn run);

/*
 * OTLP over HTTP: protobuf or JSON, told by the content type alone; an answer without a
 * body, and errors in plain text.
 */
void connect_otlp(struct rpc *rpc, rpc_fn run);

/* A GET, or a POST whose body is decompressed. */
void connect_resource(struct rpc *rpc, rpc_fn run);

/* A GET. */
void connect_get(struct rpc *rpc, rpc_fn run);

bool connect_takes_gzip(const struct rpc *rpc);

/* Answer with an error. */
void connect_refuse(struct rpc *rpc, int r);

/* Compress the answer if the client takes that and it is worth it. */
void connect_compress(struct rpc *rpc);
