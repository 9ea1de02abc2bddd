/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection is encrypted if it uses TLS itself. A proxy's X-Forwarded-Proto
 * is not trusted, since the server does not know its proxies; behind one that ends TLS the cookie
 * lacks Secure.
 */
#include "server/session_cookie.h"

#include <stdio.h>
#include <string.h>

#include "net/http.h"

static const char *name_of(const struct http_request *rq)
{
	return http_request_peer(rq)->is_encrypted ? "__Host-cameo-session" : "cameo-session";
}

/* A list "name=value; name=value" (RFC 6265, 4.2.1). The first cookie with the name counts. */
const char *session_cookie_find(const struct http_request *rq, size_t *out_len)
{
	const char *at = http_request_header(rq, "Cookie"), *name = name_of(rq);
	size_t name_len = strlen(name);

	while (at && *at) {
		size_t len;

		at += strspn(at, "; ");
		len = strcspn(at, ";");
		if (len > name_len && !strncmp(at, name, name_len) && at[name_len] == '=') {
			*out_len = len - name_len - 1;
			return at + name_len + 1;
		}
		at += len;
	}
	return NULL;
}

void session_cookie_set(const struct http_request *rq, const char *id, struct http_response *rs)
{
	snprintf(rs->trailer_text, sizeof(rs->trailer_text),
		 "%s=%s; Path=/; HttpOnly; SameSite=Strict%s%s", name_of(rq), id ? id : "",
		 http_request_peer(rq)->is_encrypted ? "; Secure" : "", id ? "" : "; Max-Age=0");
	http_response_add(rs, "Set-Cookie", rs->trailer_text);
}
