/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Protects a server that answers without credentials from the pages that a user's browser has open:
 * DNS rebinding, where a page's own name suddenly resolves to this machine, and requests that a
 * page of another origin sends here.
 */
#include <stdbool.h>

struct http_request;

/*
 * Returns true if @host, the value of a Host header, is a numeric address, "localhost", this
 * machine's name, or one of @names, which are separated by commas (NULL: none). A page cannot be
 * loaded under any of these by rebinding. The port is ignored.
 */
bool origin_host_is_ours(const char *host, const char *names);

/*
 * Returns true if a page of this server sent a request, as its browser says in Sec-Fetch-Site or
 * Origin. Browsers send one of them with every request that may change something.
 */
bool origin_is_own(const struct http_request *rq);

/* Returns true if @origin is one of @origins, which are separated by commas. */
bool origin_is_listed(const char *origin, const char *origins);

/*
 * Returns true if a page of another origin than this server and @allowed (NULL: none) sent a
 * request, as its browser says in Sec-Fetch-Site or Origin. Programs other than browsers send
 * neither. Following a link from another page is not such a request unless it may change something.
 */
bool origin_is_foreign(const struct http_request *rq, const char *allowed);
