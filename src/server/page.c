/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page is one file, compressed when the program was built. Browsers get it
 * as it is and keep it until its hash changes; its policy lets it talk to this
 * server and to nobody else.
 */
#include "server/page.h"

#include <string.h>

#include "codec/gzip.h"
#include "net/http_server.h"
#include "ui_server_page.h"

#define COMMON_HEADERS                                                                             \
	{ "Content-Security-Policy", UI_SERVER_PAGE_CSP },                                         \
		{ "X-Content-Type-Options", "nosniff" }, { "Referrer-Policy", "no-referrer" },     \
		{ "X-Frame-Options", "DENY" }, { "Cross-Origin-Opener-Policy", "same-origin" },    \
		{ "Cache-Control", "no-cache" }, { "Vary", "Accept-Encoding" },                    \
	{                                                                                          \
		"ETag", UI_SERVER_PAGE_ETAG                                                        \
	}

static const struct http_header plain[] = { COMMON_HEADERS, { NULL, NULL } };
static const struct http_header compressed[] = { COMMON_HEADERS,
						 { "Content-Encoding", "gzip" },
						 { NULL, NULL } };

void page_serve(const struct http_request *rq, struct http_response *rs)
{
	const char *accepted = http_request_header(rq, "Accept-Encoding");
	const char *known = http_request_header(rq, "If-None-Match");

	rs->content_type = "text/html; charset=utf-8";
	rs->headers = plain;
	if (known && strstr(known, UI_SERVER_PAGE_ETAG)) {
		rs->status = 304;
	} else if (accepted && strstr(accepted, "gzip")) {
		rs->headers = compressed;
		buf_put(&rs->body, ui_server_page, sizeof(ui_server_page));
	} else if (gzip_read(ui_server_page, sizeof(ui_server_page), UI_SERVER_PAGE_LEN, &rs->body,
			     NULL) < 0) {
		rs->status = 500;
	}
}
