/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The functions that the HTTP server calls (net/http_server.h says when, in which threads), with a
 * struct server as @ctx.
 */
#include <stdbool.h>

#include "net/http.h"
#include "net/http_server.h"

/* Decides by the headers of a request. */
void requests_admit(void *ctx, const struct http_request *rq, bool may_block,
		    struct http_admission *out);

/* Counts a complete request against the limit of its tenant, or refuses it. */
void requests_begin(void *ctx, const struct http_request *rq, struct http_admission *out);

/* Ends what requests_begin() began for a request, whose token is @token. */
void requests_release(void *ctx, void *token);

/* Counts a client that was disconnected because it does not read its responses. */
void requests_unread(void *ctx);

/* Answers an admitted request, in a worker thread. */
void requests_answer(void *ctx, const struct http_request *rq, struct http_response *rs);

/* Counts and logs a request that the HTTP server itself refused. */
void requests_count_refusal(void *ctx, const struct http_request *rq, enum http_refusal why,
			    int status);
