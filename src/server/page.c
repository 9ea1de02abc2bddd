/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The web page is one file, compressed at build time. Browsers cache it until its hash (ETag)
 * changes. Its content security policy restricts it to this server. The policy lists the hashes of
 * script and style, which the build computes. The page needs authentication like everything else;
 * its data comes from the API.
 */
#include <string.h>

#include "codec/common/gzip.h"
#include "net/http_server.h"
#include "server/api.h"
#include "server/connect.h"
#include "server/login.h"
#include "server/rpc.h"
#include "ui_server_page.h"

static const struct http_header headers[] = {
	{ "Content-Security-Policy", UI_SERVER_PAGE_CSP },
	{ "Referrer-Policy", "no-referrer" },
	{ "X-Frame-Options", "DENY" },
	{ "Cross-Origin-Opener-Policy", "same-origin" },
	{ "Cache-Control", "no-cache" },
	{ "Vary", "Accept-Encoding" },
	{ "ETag", UI_SERVER_PAGE_ETAG },
};

/*
 * A client without gzip gets the decompressed file. The ETag is compared as a substring, which
 * accepts lists and weak tags.
 */
static int page_get(struct rpc *rpc)
{
	const char *known = http_request_header(rpc->rq, "If-None-Match");
	struct http_response *rs = rpc->rs;

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		http_response_add(rs, headers[i].name, headers[i].value);
	rs->content_type = "text/html; charset=utf-8";
	if (known && strstr(known, UI_SERVER_PAGE_ETAG)) {
		rs->status = 304;
		return 0;
	}
	if (!connect_accepts_gzip(rpc))
		return gzip_read(ui_server_page, sizeof(ui_server_page), UI_SERVER_PAGE_LEN,
				 &rs->body, rpc->err);
	http_response_add(rs, "Content-Encoding", "gzip");
	buf_put(&rs->body, ui_server_page, sizeof(ui_server_page));
	return 0;
}

static const struct api_method methods[] = {
	{ "/", connect_get, page_get, API_CLIENT, API_FREE, "Return the web page", NULL, NULL },
	{ LOGIN_PATH, login_frame, login_sign_in, API_OPEN, API_VERIFY,
	  "Return the form to sign in, or sign in with it", NULL, NULL },
	{ "/logout", login_frame_out, login_sign_out, API_OPEN, API_FREE, "Sign out", NULL, NULL },
	{ "/api/v1/session", connect_get, login_session, API_CLIENT, API_FREE,
	  "Return the user of the session", NULL, NULL },
};
API_LIST(web_page_api, methods);
