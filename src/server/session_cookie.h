/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The cookie that carries the id of a session. Scripts cannot read it (HttpOnly), and browsers send
 * it with requests of this server's own pages only (SameSite=Strict). Its name holds the port of
 * the page. On encrypted connections its name has the prefix "__Host-", so neither an unencrypted
 * page nor another host can set it (draft-ietf-httpbis-rfc6265bis, 4.1.3). Any thread.
 */
#include <stddef.h>

struct http_request;
struct http_response;

/*
 * Returns the value of the cookie, borrowed from the request and not terminated, or NULL. It may be
 * anything.
 */
const char *session_cookie_find(const struct http_request *rq, size_t *out_len);

/*
 * Adds the header that sets the cookie to @id, or deletes it if @id is NULL. Uses the text of the
 * trailers, which the response must not have.
 */
void session_cookie_set(const struct http_request *rq, const char *id, struct http_response *rs);
