/* SPDX-License-Identifier: Apache-2.0 */
/* What the server says of itself to those who watch over it. */
#include <inttypes.h>

#include "net/http_server.h"
#include "server/counters.h"
#include "server/rpc.h"
#include "store/store.h"

int status_ready(struct rpc *rpc)
{
	rpc->rs->content_type = "text/plain; charset=utf-8";
	buf_put_str(&rpc->rs->body, "ready");
	return 0;
}

int status_metrics(struct rpc *rpc)
{
	struct buf *out = &rpc->rs->body;
	struct store_usage usage = { 0 };

	store_usage(rpc->store, &usage, NULL);
	rpc->rs->content_type = "text/plain; version=0.0.4";
	counters_put(rpc->counters, out);
	buf_printf(out,
		   "# TYPE cameo_store_bytes gauge\n"
		   "cameo_store_bytes %" PRIu64 "\n"
		   "# TYPE cameo_store_days gauge\n"
		   "cameo_store_days %" PRIu32 "\n",
		   usage.bytes, usage.n_days);
	return 0;
}

int status_build(struct rpc *rpc)
{
	rpc->rs->content_type = "application/json";
	buf_put_str(&rpc->rs->body, "{\"status\":\"success\",\"data\":{\"version\":\"" CAMEO_VERSION
				    "\",\"revision\":\"\",\"branch\":\"\",\"buildUser\":\"\","
				    "\"buildDate\":\"\",\"goVersion\":\"\"}}");
	return 0;
}
