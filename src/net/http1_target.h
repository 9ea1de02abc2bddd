/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checks of the target of a request that libmicrohttpd lacks. It keeps each argument in
 * the memory of the connection, some thirty times the bytes of a short one; when that is used up it
 * neither answers nor closes the connection.
 */
#include <stdbool.h>

struct MHD_Connection;
struct http_request;

enum { HTTP1_TARGET_MEMORY = 32 * 1024 }; /* of a connection, with its headers */

/*
 * MHD_OPTION_URI_LOG_CALLBACK, which is called before the arguments are parsed. Removes those of a
 * target that needs too much memory. Returns what libmicrohttpd then passes for the request's
 * context: NULL, or a constant that http1_target_is_refused() recognizes.
 */
void *http1_target_check(void *cls, const char *target, struct MHD_Connection *c);
bool http1_target_is_refused(const void *context);

/*
 * Splits a target that is a whole URL, as clients of a proxy send it, into authority and path (RFC
 * 9112, 3.2.2). Other targets stay unchanged. Returns 0, -EINVAL, or -ENOMEM.
 */
int http1_target_split(struct http_request *rq);
