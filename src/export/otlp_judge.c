/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The specification of exporters (OTLP 1.x, "Failures") decides what is retried; RetryInfo and
 * Retry-After override the channel's own pause. Partial success counts as success: the receiver has
 * named how many profiles it rejected, and sending them again would store the others twice.
 */
#include "export/otlp_judge.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "export/http_judge.h"
#include "export/otlp_answer.h"
#include "export/sink.h"
#include "net/http_client.h"

enum { DETAILS_MAX = 8192 };

enum grpc_status {
	GRPC_OK = 0,
	GRPC_CANCELLED = 1,
	GRPC_UNKNOWN = 2,
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_ABORTED = 10,
	GRPC_OUT_OF_RANGE = 11,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14,
	GRPC_DATA_LOSS = 15,
	GRPC_UNAUTHENTICATED = 16,
};

static void done(const struct otlp_answer *a, uint32_t n_profiles, struct sink_outcome *out)
{
	out->verdict = SINK_DONE;
	out->rejected_profiles = a->rejected < n_profiles ? a->rejected : n_profiles;
	if (a->rejected || a->message[0])
		sink_end(out, SINK_DONE, "%u of %u profiles rejected: %s",
			 (unsigned int)out->rejected_profiles, n_profiles, a->message);
}

/*
 * grpc-status-details-bin is base64 (gRPC over HTTP2, "Binary-Header"); it is limited because
 * headers of a server are untrusted.
 */
static void read_details(const struct http_client_response *a, struct otlp_answer *out)
{
	const char *details = http_client_response_header(a, "grpc-status-details-bin");
	_cleanup_(buf_fini) struct buf status = { 0 };

	if (details && strlen(details) <= DETAILS_MAX &&
	    base64_decode(details, strlen(details), &status) == 0)
		otlp_answer_read_status(status.data, status.len, out);
}

static enum sink_verdict grpc_verdict(long status, bool may_retry)
{
	switch (status) {
	case GRPC_CANCELLED:
	case GRPC_DEADLINE_EXCEEDED:
	case GRPC_ABORTED:
	case GRPC_OUT_OF_RANGE:
	case GRPC_UNAVAILABLE:
	case GRPC_DATA_LOSS:
		return SINK_LATER;
	case GRPC_RESOURCE_EXHAUSTED: /* a quota, which refills, or the size of the message */
		return may_retry ? SINK_LATER : SINK_DOUBTFUL;
	case GRPC_PERMISSION_DENIED:
	case GRPC_UNAUTHENTICATED:
		return SINK_DENIED;
	case GRPC_UNKNOWN:
	case GRPC_INTERNAL:
		return SINK_DOUBTFUL;
	default:
		return SINK_NEVER;
	}
}

/*
 * A response without grpc-status is not gRPC: a proxy in between may have responded, so the item is
 * retried.
 */
void otlp_judge_grpc(const struct http_client_response *a, uint32_t n_profiles,
		     struct sink_outcome *out)
{
	const char *status = http_client_response_header(a, "grpc-status"), *message;
	struct otlp_answer said = { 0 };
	char *end;
	long code;

	if (a->status != 200 || !status) {
		if (a->status == 200)
			sink_end(out, SINK_LATER,
				 "the response is not gRPC: is this the gRPC port?");
		else
			http_judge_status(a, NULL, out);
		return;
	}
	code = strtol(status, &end, 10);
	if (end == status || *end)
		code = GRPC_UNKNOWN;
	if (code == GRPC_OK) {
		if (a->body.len > OTLP_FRAME_HEADER && !a->body.data[0])
			otlp_answer_read(a->body.data + OTLP_FRAME_HEADER,
					 a->body.len - OTLP_FRAME_HEADER, &said);
		done(&said, n_profiles, out);
		return;
	}
	read_details(a, &said);
	message = http_client_response_header(a, "grpc-message");
	if (message)
		otlp_answer_read_message(message, &said);
	out->retry_ms = said.retry_ms;
	sink_end(out, grpc_verdict(code, said.may_retry), "gRPC status %ld: %s", code,
		 said.message);
}

static bool is_protobuf(const struct http_client_response *a)
{
	return http_judge_has_type(a, "application/x-protobuf") ||
	       http_judge_has_type(a, "application/protobuf");
}

/*
 * Errors may be protobuf or text. A success of another content type is treated like an outage: a
 * captive portal or a wrong port answers 200 to everything.
 */
void otlp_judge_http(const struct http_client_response *a, uint32_t n_profiles,
		     struct sink_outcome *out)
{
	struct otlp_answer said = { 0 };
	size_t len = a->body.len < OTLP_MESSAGE_LEN - 1 ? a->body.len : OTLP_MESSAGE_LEN - 1;

	if (a->status / 100 == 2) {
		if (is_protobuf(a))
			otlp_answer_read(a->body.data, a->body.len, &said);
		if (!a->body.len || is_protobuf(a) || http_judge_has_type(a, "application/json"))
			done(&said, n_profiles, out);
		else
			sink_end(out, SINK_LATER,
				 "status %d, but the response is not from an OTLP receiver",
				 a->status);
		return;
	}
	if (is_protobuf(a))
		otlp_answer_read_status(a->body.data, a->body.len, &said);
	else if (len)
		memcpy(said.message, a->body.data, len);
	http_judge_status(a, said.message[0] ? said.message : NULL, out);
	if (!out->retry_ms)
		out->retry_ms = said.retry_ms;
}
