/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Requests to one URL with what its owner wants of them: credentials, tenant,
 * headers, TLS. And what an HTTP status means for an item.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "net/http_client.h"

struct err;
struct export_sink_options;
struct post;
struct sink_outcome;

struct post_options {
	const struct export_sink_options *sink;
	const char *url;
	const char *const *headers; /* of the protocol */
	size_t n_headers;
	bool http2_only;
};

/* Everything is copied. 0; -EINVAL for options that can't be used, -ENOMEM. */
int post_new(struct post **out, const struct post_options *opt, struct err *err);
void post_free(struct post *p);

DEFINE_FREEP(struct post, post_free)

/*
 * Send @body. True with the answer, whatever its status; false and @outcome is
 * filled when there was none. @answer is the caller's to free in any case.
 */
bool post_send(struct post *p, const struct buf *body, struct http_answer *answer,
	       struct sink_outcome *outcome);

void post_cancel(struct post *p);

/* What to do after a status that is not 2xx; @message is what the server said of it, or NULL. */
void post_judge(const struct http_answer *a, const char *message, struct sink_outcome *outcome);

/* Is the answer's Content-Type @type, whatever its parameters? */
bool post_has_type(const struct http_answer *a, const char *type);
