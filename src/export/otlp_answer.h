/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Parses responses of OTLP receivers. They are untrusted; malformed ones are read as empty. Texts
 * are truncated and may contain control characters, which sink_end() replaces. The structs must be
 * zeroed before; fields that a response lacks are unchanged.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OTLP_MESSAGE_LEN = 120 };

struct otlp_answer {
	char message[OTLP_MESSAGE_LEN]; /* "" if there is none */
	uint64_t rejected;              /* number of rejected profiles */
	bool may_retry;                 /* google.rpc.RetryInfo is present */
	int64_t retry_ms;               /* its delay, at most a day */
};

/* Parses an ExportProfilesServiceResponse. */
void otlp_answer_read(const void *data, size_t len, struct otlp_answer *out);

/* Parses a google.rpc.Status: the body of an HTTP error, or gRPC's status details. */
void otlp_answer_read_status(const void *data, size_t len, struct otlp_answer *out);

/* Parses grpc-message, which is percent-encoded. */
void otlp_answer_read_message(const char *s, struct otlp_answer *out);
