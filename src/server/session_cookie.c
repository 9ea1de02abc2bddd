/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection is encrypted if it uses TLS itself. A proxy's X-Forwarded-Proto
 * is not trusted, since the server does not know its proxies; behind one that ends TLS the cookie
 * lacks Secure.
 */
#include "server/session_cookie.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "net/http.h"

enum { NAME_LEN = 40, PORT_LEN = 5 };

/*
 * Browsers send a cookie to all ports of a host (RFC 6265, 8.5). With the port in its name, servers
 * on one host do not replace each other's. The port is that of the page's address, as Host has it.
 */
static void name_of(const struct http_request *rq, char out[NAME_LEN])
{
	const char *host = http_request_host(rq), *colon = host ? strrchr(host, ':') : NULL;
	const char *port = colon ? colon + 1 : "";
	size_t len = strspn(port, "0123456789");
	bool has_port = len && len <= PORT_LEN && !port[len];

	snprintf(out, NAME_LEN, "%scameo-session%s%s",
		 http_request_peer(rq)->is_encrypted ? "__Host-" : "", has_port ? "-" : "",
		 has_port ? port : "");
}

/* A list "name=value; name=value" (RFC 6265, 4.2.1). The first cookie with the name counts. */
const char *session_cookie_find(const struct http_request *rq, size_t *out_len)
{
	const char *at = http_request_header(rq, "Cookie");
	char name[NAME_LEN];
	size_t name_len;

	name_of(rq, name);
	name_len = strlen(name);
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
	char name[NAME_LEN];

	name_of(rq, name);
	snprintf(rs->trailer_text, sizeof(rs->trailer_text),
		 "%s=%s; Path=/; HttpOnly; SameSite=Strict%s%s", name, id ? id : "",
		 http_request_peer(rq)->is_encrypted ? "; Secure" : "", id ? "" : "; Max-Age=0");
	http_response_add(rs, "Set-Cookie", rs->trailer_text);
}
