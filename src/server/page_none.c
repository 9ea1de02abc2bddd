/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces page.c in a build without the web page (-Dui=disabled). The path exists nevertheless, so
 * that a browser shows why there is no page.
 */
#include <errno.h>

#include "base/err.h"
#include "net/http.h"
#include "server/api.h"
#include "server/connect.h"
#include "server/login.h"
#include "server/rpc.h"

static int page_get(struct rpc *rpc)
{
	return err_set(rpc->err, -ENOENT,
		       "this server was built without the web page (-Dui=disabled)");
}

/* There is no form: the browser opens its own dialog for credentials. */
void login_redirect(struct http_response *rs)
{
	rs->status = 401;
	http_response_add(rs, "WWW-Authenticate", "Basic realm=\"cameo\"");
}

static const struct api_method methods[] = {
	{ "/", connect_get, page_get, API_CLIENT, API_FREE, "Return the web page", NULL, NULL },
};
API_LIST(web_page_api, methods);
