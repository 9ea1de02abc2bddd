/* SPDX-License-Identifier: Apache-2.0 */
/* A toy API method: this file and one line in toy_api.def are all that adding it takes. */
#include "net/http_server.h"
#include "server/api.h"
#include "server/connect.h"

static int say_hello(struct rpc *rpc)
{
	buf_put_str(&rpc->rs->body, "hello");
	return 0;
}

static const struct api_method methods[] = {
	{ .path = "/toy.v1.ToyService/Hello",
	  .framing = connect_get,
	  .run = say_hello,
	  .access = API_OPEN,
	  .cost = API_FREE,
	  .doc = "Say hello" },
};
API_LIST(toy_api, methods);
