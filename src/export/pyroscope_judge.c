/* SPDX-License-Identifier: Apache-2.0 */
#include "export/pyroscope_judge.h"

#include <stdio.h>
#include <string.h>

#include "base/json_read.h"
#include "export/http_judge.h"
#include "export/sink.h"
#include "net/http_client.h"

enum { MAX_MESSAGE = 120 };

static int take_message(struct json_read *j, void *ctx)
{
	int r;

	if (!json_read_is(j, "message"))
		return json_read_skip(j);
	r = json_read_string(j);
	if (r == 0)
		snprintf(ctx, MAX_MESSAGE, "%s", (char *)j->text.data);
	return r;
}

/* Extracts the message of a Connect error, {"code":..., "message":...}; "" if there is none. */
static void read_message(const struct http_client_response *a, char out[MAX_MESSAGE])
{
	struct json_read j;

	out[0] = 0;
	json_read_init(&j, a->body.data, a->body.len);
	json_read_each(&j, '{', take_message, out);
	json_read_fini(&j);
}

/* The server is recognized again with each response, since a URL may lead to another one later. */
void pyroscope_judge(const struct http_client_response *a, struct sink_outcome *out)
{
	const char *server = http_client_response_header(a, "Server");
	char message[MAX_MESSAGE];

	out->is_cameo = server && !strncmp(server, "cameo/", 6);
	if (a->status == 200 && (!a->body.len || http_judge_has_type(a, "application/proto"))) {
		out->verdict = SINK_DONE;
	} else if (a->status / 100 == 2) {
		sink_end(out, SINK_LATER,
			 "status %d, but the response is not from a Pyroscope server", a->status);
	} else {
		read_message(a, message);
		http_judge_status(a, message[0] ? message : NULL, out);
	}
}
