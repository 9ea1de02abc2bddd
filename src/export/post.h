/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * POST requests to one URL with the sink's credentials, tenant, headers and TLS options. A process
 * of the exporter's role (exporter_role.h) sends each request and judges the response, so that this
 * process needs no network and parses nothing of a server. It reads the files of credentials and
 * certificates, which may be readable only for root. A post is used by one thread; only
 * post_cancel() may be called from others.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "export/post_message.h"

struct buf;
struct err;
struct export_sink_options;
struct post;
struct role_pool;
struct sink_outcome;

/* The header by which servers recognize Cameo. */
#define POST_USER_AGENT ("User-Agent: cameo/" CAMEO_VERSION)

struct post_options {
	const struct export_sink_options *sink;
	struct role_pool *pool; /* of exporters; must outlive the post */
	enum post_judge judge;
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
 * Sends @body, which has @n_profiles, and fills in @outcome. Returns true if there was a response,
 * whatever its status. Blocks until the response is complete, the timeout, or post_cancel(). A
 * network failure, an unreadable file and an exporter that dies are all SINK_LATER, because all may
 * be repaired while the agent runs.
 */
bool post_send(struct post *p, const struct buf *body, uint32_t n_profiles,
	       struct sink_outcome *outcome);

/* Ends the current and all later requests. Any thread. */
void post_cancel(struct post *p);
