/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Requests and replies of the opener's jobs. Both sides run the same binary (roles/message.h). */
#include <stdint.h>

#include "base/regular_file.h"

enum { OPEN_PATH_MAX = 8192, OPEN_COPY_MAX = 64 << 20 };

/* Comes with one descriptor if has_root. */
struct open_request {
	uint64_t copy_max; /* at most OPEN_COPY_MAX */
	uint32_t has_root, nofollow;
	char path[]; /* up to the end of the request, which is a NUL */
};

/* Comes with one descriptor, or none if the result is an error. */
struct open_reply {
	struct regular_file_info info;
};

/* The reply has as many bytes as were requested, or none if the result is an error. */
struct memory_request {
	uint64_t addr;
	uint32_t pid, len; /* at most ROLE_BODY_MAX bytes */
};
