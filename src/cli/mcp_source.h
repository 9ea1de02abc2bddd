/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The profiles that `cameo mcp` may read: the files and servers of its command line, and nothing
 * that a client names. A client chooses a source and, on a server, services and a time range.
 */
#include <stddef.h>

struct buf;
struct err;
struct profile;
struct sources;

/* The choices of a client; NULL: not given. */
struct mcp_choice {
	const char *source;       /* number from 1, or name; NULL: the first */
	const char *service;      /* of a server, as the rest */
	const char *selector;     /* instead of service */
	const char *type;         /* profile type */
	const char *from, *until; /* times as url_parse_time() accepts them */
	const char *sample_type;
};

/* Finds the number of the source that the client chose. Returns 0 or -errno with the reason. */
int mcp_source_find(const struct sources *s, const char *source, size_t *out, struct err *err);

/*
 * Reads the chosen profile. *@out_value_num is its sample type. Returns 0 or -errno with the
 * reason.
 */
int mcp_source_read(const struct sources *s, const struct mcp_choice *c, struct profile **out,
		    size_t *out_value_num, struct err *err);

/*
 * Appends the name of each source and what it contains: sample types and processes of a file;
 * services of a server between the times of @c. Returns 0 or -errno with the reason.
 */
int mcp_source_list(const struct sources *s, const struct mcp_choice *c, struct buf *out,
		    struct err *err);
