/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Requests, parts and replies of the jobs FETCH_GET and FETCH_GET_ALL. Both sides run the same
 * binary (roles/message.h). Checks are pure functions and do not trust the bytes.
 */
#include <stddef.h>
#include <stdint.h>

struct err;

/* Kinds of the requests and of their parts. */
enum { FETCH_GET = 0x100, FETCH_BODY = 0x101, FETCH_GET_ALL = 0x102, FETCH_END = 0x103 };

/* URLs of one FETCH_GET_ALL. */
enum { FETCH_ALL_MAX = 320, FETCH_HEADERS_MAX = 16 };

enum fetch_flags {
	FETCH_INSECURE = 1u << 0,     /* do not verify the certificate */
	FETCH_ANY_REDIRECT = 1u << 1, /* redirects may lead to other servers */
};

struct fetch_request {
	uint64_t max_bytes; /* of the body */
	uint32_t timeout_ms;
	uint32_t flags;
	uint32_t files; /* bits 1 << enum fetch_file; the descriptors of the request */
	uint32_t reserved;
	/* The URL and headers, each with a NUL, up to the end of the request. */
	char texts[];
};

struct fetch_reply {
	int32_t status; /* of HTTP; 0 if the result is an error */
	char why[160];  /* the reason of an error */
	uint32_t reserved;
};

/*
 * Fills in a reply: @r is the status of a response, or -errno, whose reason is in @err or else its
 * own text. Returns the result of the job: 0 or -errno.
 */
int fetch_set_reply(struct fetch_reply *out, int r, const struct err *err);

/* Returns @data as a reply if it is a valid one, else NULL. @result is that of the job. */
const struct fetch_reply *fetch_check_reply(const void *data, size_t len, int result);

/* Requests all URLs at the same time. The limits apply to each URL. The job has no reply. */
struct fetch_all_request {
	uint64_t max_bytes;
	uint32_t timeout_ms;
	uint32_t n;         /* URLs, 1 to FETCH_ALL_MAX */
	uint32_t n_headers; /* of each request, up to FETCH_HEADERS_MAX */
	uint32_t files;     /* as in struct fetch_request, for all of them */
	char texts[];       /* headers, then URLs, each with a NUL */
};

/* FETCH_BODY of FETCH_GET_ALL begins with this. */
struct fetch_piece {
	uint32_t index; /* of the URL */
	uint32_t reserved;
	uint8_t data[];
};

/* FETCH_END: the last part of a URL. */
struct fetch_end {
	uint32_t index;
	int32_t result; /* 0 or -errno */
	struct fetch_reply reply;
};

/* Return the part if it is a valid one of a request with @n URLs, else NULL. */
const struct fetch_piece *fetch_check_piece(const void *data, size_t len, size_t n);
const struct fetch_end *fetch_check_end(const void *data, size_t len, size_t n);
