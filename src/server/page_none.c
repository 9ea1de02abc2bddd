/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for page.c in a build without the page (-Dui=disabled). */
#include "net/http_server.h"
#include "server/page.h"

void page_serve(const struct http_request *rq, struct http_response *rs)
{
	rs->status = 404;
	rs->content_type = "text/plain; charset=utf-8";
	buf_put_str(&rs->body, "this cameo was built without the page (-Dui=disabled)\n");
}
