/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decides who may send a request: the host it names, the web page it comes from, its credentials,
 * their scope and tenant. Everything that headers suffice for is decided before a body is read;
 * what the client may do is decided again by the worker, since files of credentials change.
 */
#include <stdbool.h>

#include "server/api.h"

struct access;
struct api_method;
struct counters;
struct http_request;
struct http_response;
struct rpc;
struct server_options;

struct admission {
	const struct server_options *opt;
	struct access *access; /* NULL: no credentials are required */
	struct counters *counters;
};

/* The tenant of clients that name none. */
#define ADMISSION_TENANT "anonymous"

/*
 * Returns true if this is the request with which a browser finds out whether a page of another
 * origin may send one (CORS preflight). It has no credentials, so it does not count against the
 * limits of any tenant.
 */
bool admission_is_preflight(const struct http_request *rq);

/* Returns true if a method with this access is about one tenant. */
bool admission_has_tenant(enum api_access access);

/*
 * Returns true if a browser sent this request. A browser must not be challenged (WWW-Authenticate),
 * because it would open its own dialog for a password instead of leaving that to the web page.
 */
bool admission_is_browser(const struct http_request *rq);

/*
 * Decides by the headers of a request for @api, which is NULL for an unknown path. Returns 0, or
 * the status of a refusal with *@out_message, constant text without characters that JSON escapes.
 * *@out is the client if the method is known. Unless @may_block it returns -EINPROGRESS where it
 * would have to verify a credential, which takes milliseconds.
 */
int admission_by_headers(const struct admission *a, const struct api_method *api,
			 const struct http_request *rq, bool may_block, struct client *out,
			 const char **out_message);

/*
 * Adds the headers by which a page of an origin in --cors-origin may read the response. Returns
 * true if the request is a preflight of such a page (Fetch standard), which is then answered.
 */
bool admission_allow_origin(const struct admission *a, const struct http_request *rq,
			    struct http_response *rs);

/*
 * Authenticates the client of @rpc, whose method is known, checks its scope, and sets the tenant
 * and, for methods that store, the sink. Returns 0; 1 if it has answered, with a redirect to the
 * form to sign in; -EACCES without valid credentials or a required tenant; -EPERM without the scope
 * or for another tenant; -EINVAL for an invalid tenant; -EUSERS after too many wrong passwords.
 */
int admission_decide(const struct admission *a, struct rpc *rpc);
