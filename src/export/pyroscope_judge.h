/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The meaning of the response of a Pyroscope or Cameo server for the item that was sent. Responses
 * are untrusted; nothing here sends or receives.
 */
struct http_client_response;
struct sink_outcome;

/* Fills in @out, which must be zeroed. */
void pyroscope_judge(const struct http_client_response *a, struct sink_outcome *out);
