/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The meaning of an OTLP receiver's response for the item that was sent. Responses are untrusted;
 * nothing here sends or receives.
 */
#include <stdint.h>

struct http_client_response;
struct sink_outcome;

enum { OTLP_FRAME_HEADER = 5 /* bytes before a gRPC message: compression flag and length */ };

/*
 * Fill in @out from a response over gRPC, or over HTTP, to a request with @n_profiles profiles.
 * @out must be zeroed.
 */
void otlp_judge_grpc(const struct http_client_response *a, uint32_t n_profiles,
		     struct sink_outcome *out);
void otlp_judge_http(const struct http_client_response *a, uint32_t n_profiles,
		     struct sink_outcome *out);
