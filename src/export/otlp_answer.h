/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What OTLP receivers say of a request. From anybody: what is malformed says nothing. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OTLP_MESSAGE_LEN = 120 };

struct otlp_answer {
	char message[OTLP_MESSAGE_LEN]; /* "" if there is none */
	uint64_t rejected;              /* profiles that were not taken */
	bool may_retry;                 /* google.rpc.RetryInfo is there */
	int64_t retry_ms;               /* of it: at most a day */
};

/* An ExportProfilesServiceResponse. */
void otlp_answer_read(const void *data, size_t len, struct otlp_answer *out);

/* A google.rpc.Status: of an HTTP answer's body, or of gRPC's details. */
void otlp_answer_read_status(const void *data, size_t len, struct otlp_answer *out);

/* grpc-message: percent-encoded text. */
void otlp_answer_read_message(const char *s, struct otlp_answer *out);
