/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Maps the -errno of a handler to statuses of HTTP, Connect and gRPC. A handler chooses the -errno
 * that fits best; the table in failure.c is the only place that knows statuses. An error without an
 * entry is a 500, which is for bugs and damage.
 */
#include <stddef.h>

#include "server/counters.h"

struct rpc;

struct failure {
	int error;            /* the negative errno */
	int status;           /* HTTP status */
	int grpc;             /* value of grpc-status */
	const char *code;     /* Connect's error code */
	enum counter counter; /* counted in addition to COUNTER_REFUSED */
};

/*
 * Finds the failure for @r, which is below 0, and counts it. Never returns NULL. Call it once per
 * refused request.
 */
const struct failure *failure_record(struct rpc *rpc, int r);

/*
 * Limit of a decompressed body in bytes: an eighth of the memory budget, at most 128 MiB. A client
 * can make the server allocate that much beyond the body that was admitted.
 */
size_t request_max_decompressed(const struct rpc *rpc);
