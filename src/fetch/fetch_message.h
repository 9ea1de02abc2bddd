/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Request, parts and reply of the job FETCH_GET. Both sides run the same binary (roles/message.h).
 */
#include <stddef.h>
#include <stdint.h>

enum { FETCH_GET = 0x100, FETCH_BODY = 0x101 }; /* kinds of the request and of its parts */

enum fetch_flags {
	FETCH_INSECURE = 1u << 0,     /* do not verify the certificate */
	FETCH_ANY_REDIRECT = 1u << 1, /* redirects may lead to other servers */
	FETCH_HAS_CA = 1u << 2,       /* the descriptor of the request is a file of CAs, in PEM */
};

struct fetch_request {
	uint64_t max_bytes; /* of the body */
	uint32_t timeout_ms;
	uint32_t flags;
	/* The URL and headers, each with a NUL, up to the end of the request. */
	char texts[];
};

struct fetch_reply {
	int32_t status; /* of HTTP; 0 if the result is an error */
	char why[160];  /* the reason of an error */
	uint32_t reserved;
};

/* Returns @data as a reply if it is a valid one, else NULL. @result is that of the job. */
const struct fetch_reply *fetch_check_reply(const void *data, size_t len, int result);
