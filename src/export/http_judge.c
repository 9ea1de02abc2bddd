/* SPDX-License-Identifier: Apache-2.0 */
#include "export/http_judge.h"

#include <string.h>
#include <strings.h>

#include "export/sink.h"
#include "net/http_client.h"

void http_judge_status(const struct http_client_response *a, const char *message,
		       struct sink_outcome *outcome)
{
	enum sink_verdict v = SINK_LATER;

	if (a->status == 401 || a->status == 403 || a->status == 407)
		v = SINK_DENIED;
	else if (a->status >= 400 && a->status < 500 && a->status != 429)
		v = SINK_NEVER;
	else if (a->status == 500 || a->status == 501)
		v = SINK_DOUBTFUL;
	outcome->retry_ms = http_client_response_retry_ms(a);
	sink_end(outcome, v, "status %d%s%.120s", a->status, message ? ": " : "",
		 message ? message : "");
}

/* Media types are compared without regard to case (RFC 9110, 8.3.1). */
bool http_judge_has_type(const struct http_client_response *a, const char *type)
{
	const char *is = http_client_response_header(a, "Content-Type");
	size_t len = strlen(type);

	return is && !strncasecmp(is, type, len) && strchr("; \t", is[len]);
}
