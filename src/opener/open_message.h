/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Requests and replies of the opener's jobs. Both sides run the same binary (roles/message.h). */
#include <stdint.h>

#include "base/regular_file.h"

enum { OPEN_PATH_MAX = 8192, OPEN_COPY_MAX = 64 << 20 };

/*
 * Comes with the descriptor of the root if has_root, and that of an empty memory file. A copy is
 * made in this file of the client's, which can thus free it whatever becomes of the opener.
 */
struct open_request {
	uint64_t copy_max; /* at most OPEN_COPY_MAX; 0: no copy */
	uint32_t has_root, nofollow;
	uint32_t is_user;    /* on behalf of a user other than root */
	uint32_t is_of_proc; /* as in struct regular_file_query */
	char path[];         /* up to the end of the request, which is a NUL */
};

/* Comes with a descriptor, unless the result is an error or there is a copy. */
struct open_reply {
	struct regular_file_info info;
};

/* The reply has as many bytes as were requested, or none if the result is an error. */
struct memory_request {
	uint64_t addr;
	uint32_t pid, len; /* at most ROLE_BODY_MAX bytes */
};

/* The reply is in the format of maps_message.h; if it has no bytes, they are in its descriptor. */
struct maps_request {
	uint32_t pid, filter; /* enum proc_maps_filter */
	uint64_t bytes_max;   /* of the reply; at most MAPS_BYTES_MAX */
};

/* The parts are in the format of resident_message.h. */
struct resident_request {
	uint32_t pid, has_mappings;
};

/* The reply has the bytes from @offset on that fit. */
struct environ_request {
	uint64_t offset;
	uint32_t pid, reserved;
};
