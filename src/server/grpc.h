/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* gRPC's unary calls: one message each way in a frame, and what went wrong in trailers. */
#include <stdbool.h>

#include "server/connect.h"

struct rpc;

/* Is the request one? */
bool grpc_is(const struct rpc *rpc);

void grpc_call(struct rpc *rpc, rpc_fn run);

/* Answer with an error. */
void grpc_refuse(struct rpc *rpc, int r);
