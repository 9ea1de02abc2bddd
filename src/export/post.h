/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * POST requests to one URL with the sink's credentials, tenant, headers and TLS options, and the
 * meaning of an HTTP status for an item. A post is used by one thread; only post_cancel() may be
 * called from others. Responses are limited to 64 KiB, since they carry no data.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "net/http_client.h"

struct export_sink_options;
struct post;
struct sink_outcome;

/* The header by which servers recognize Cameo. */
#define POST_USER_AGENT ("User-Agent: cameo/" CAMEO_VERSION)

struct post_options {
	const struct export_sink_options *sink;
	const char *url;
	const char *const *headers; /* of the protocol */
	size_t n_headers;
	bool http2_only;
};

/*
 * Everything is copied. Returns 0, -EINVAL for invalid options, -ENOMEM. Header lines that contain
 * a line break are refused: they could smuggle a second header.
 */
int post_new(struct post **out, const struct post_options *opt, struct err *err);
void post_free(struct post *p);

DEFINE_FREEP(struct post, post_free)

/*
 * Sends @body. True: @answer is the response, whatever its status. False: there was none, and
 * @outcome is filled in. The caller frees @answer in either case. Blocks until the response is
 * complete, the timeout, or post_cancel(). A network failure and an unreadable file of credentials
 * are both SINK_LATER, because both may be repaired while the agent runs.
 */
bool post_send(struct post *p, const struct buf *body, struct http_answer *answer,
	       struct sink_outcome *outcome);

/* Ends the current and all later requests. Any thread. */
void post_cancel(struct post *p);

/*
 * Sets the outcome for a status other than 2xx. @message is the server's, or NULL. 401, 403
 * and 407 refuse the credentials; other 4xx except 429 are permanent, 500 and 501 are doubtful, all
 * others are retried. Retry-After sets the pause.
 */
void post_judge(const struct http_answer *a, const char *message, struct sink_outcome *outcome);

/* Is the response's Content-Type @type, ignoring parameters? */
bool post_has_type(const struct http_answer *a, const char *type);
