/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The meaning of an HTTP status for an item, whatever the protocol of the back end is. Responses
 * are untrusted; nothing here sends or receives.
 */
#include <stdbool.h>

struct http_client_response;
struct sink_outcome;

/*
 * Sets the outcome for a status other than 2xx. @message is the server's, or NULL. 401, 403
 * and 407 refuse the credentials; other 4xx except 429 are permanent, 500 and 501 are doubtful, all
 * others are retried. Retry-After sets the pause.
 */
void http_judge_status(const struct http_client_response *a, const char *message,
		       struct sink_outcome *outcome);

/* Returns true if the response's Content-Type, without its parameters, is @type. */
bool http_judge_has_type(const struct http_client_response *a, const char *type);
