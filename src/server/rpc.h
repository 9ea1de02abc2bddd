/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the handlers of requests share. A handler returns 0 and has filled the body, or -errno. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/answer.h"

struct buf;
struct err;
struct http_request;
struct http_response;
struct store;

struct rpc {
	struct store *store;
	const char *tenant;
	const struct http_request *rq;
	const void *body; /* decompressed */
	size_t len;
	bool json;
	struct http_response *rs;
	struct err *err;
};

/* push.v1 */
int push_rpc(struct rpc *rpc);
int push_ingest(struct rpc *rpc);

/* querier.v1: -ENOSYS for a method that is not there. */
int querier_rpc(struct rpc *rpc, const char *method);
