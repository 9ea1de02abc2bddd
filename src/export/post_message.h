/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Request and reply of the job EXPORT_POST. Both sides run the same binary (roles/message.h). */
#include <stdint.h>

/* The module that judges the response. */
enum post_judge {
	POST_PYROSCOPE,
	POST_OTLP_GRPC,
	POST_OTLP_HTTP,
	POST_IGNORE, /* the response does not matter */
	POST_JUDGE_MAX,
};

/* Files in PEM, as sealed memory files, in this order after the descriptor of the body. */
enum post_file {
	POST_CA,
	POST_CERT,
	POST_KEY,
	POST_FILES,
};

struct post_request {
	uint32_t judge; /* enum post_judge */
	uint32_t n_profiles;
	uint32_t timeout_ms;
	uint8_t insecure, http2_only;
	uint8_t files; /* bits of enum post_file: which of them follow the body */
	uint8_t reserved;
	/* The URL and headers, each with a NUL, up to the end of the request. */
	char texts[];
};

struct post_reply {
	uint32_t verdict; /* enum sink_verdict */
	uint32_t is_cameo;
	int64_t retry_ms;
	uint64_t rejected_profiles;
	char why[160];
};
