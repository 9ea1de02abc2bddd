/* SPDX-License-Identifier: Apache-2.0 */
/* What the server says of itself to those who watch over it. */
#include <inttypes.h>

#include "net/http_server.h"
#include "server/counters.h"
#include "server/memory.h"
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
		   "# TYPE cameo_memory_bytes gauge\n"
		   "cameo_memory_bytes %zu\n"
		   "# TYPE cameo_store_bytes gauge\n"
		   "cameo_store_bytes %" PRIu64 "\n"
		   "# TYPE cameo_store_days gauge\n"
		   "cameo_store_days %" PRIu32 "\n",
		   memory_used(), usage.bytes, usage.n_days);
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

/* Clients ask these before they ask anything else; what they read is the same for all servers. */

int status_version(struct rpc *rpc)
{
	struct answer a = answer_to(&rpc->rs->body, rpc->json);
	size_t whole = answer_begin(&a, 0, NULL);

	answer_int(&a, 1, "QuerierAPI", 1);
	answer_end(&a, whole);
	return 0;
}

int status_features(struct rpc *rpc)
{
	static const struct {
		const char *name;
		bool enabled;
	} flags[] = { { "pyroscopeRuler", false },
		      { "pyroscopeRulerFunctions", false },
		      { "utf8LabelNames", false },
		      { "v2StorageLayer", true } };
	struct answer a = answer_to(&rpc->rs->body, rpc->json);
	size_t whole = answer_begin(&a, 0, NULL);

	answer_list(&a, "featureFlags");
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		size_t flag = answer_begin(&a, 1, NULL);

		answer_string(&a, 1, "name", flags[i].name);
		answer_bool(&a, 2, "enabled", flags[i].enabled);
		answer_end(&a, flag);
	}
	answer_list_end(&a);
	answer_end(&a, whole);
	return 0;
}

/* Nobody has kept any. */
int status_settings(struct rpc *rpc)
{
	struct answer a = answer_to(&rpc->rs->body, rpc->json);

	answer_end(&a, answer_begin(&a, 0, NULL));
	return 0;
}
