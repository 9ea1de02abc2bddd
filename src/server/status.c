/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's status for monitoring, and the small services that clients probe first.
 *
 * Free methods are answered when memory is short, so they must not allocate in proportion to the
 * data. /ready needs no authentication, because load balancers have none; /metrics does, like
 * everything else.
 */
#include <inttypes.h>
#include <stdatomic.h>

#include "net/http_server.h"
#include "server/api.h"
#include "server/connect.h"
#include "server/counters.h"
#include "server/latency.h"
#include "server/memory_budget.h"
#include "server/pools.h"
#include "server/readiness.h"
#include "server/rpc.h"
#include "server/tenant_limits.h"
#include "store/store.h"

static int status_ready(struct rpc *rpc)
{
	int r = readiness_check(rpc->readiness, rpc->store, rpc->err);

	if (r < 0)
		return r;
	rpc->rs->content_type = "text/plain; charset=utf-8";
	buf_put_str(&rpc->rs->body, "ready");
	return 0;
}

/* If the store cannot be queried, its sizes are 0: metrics of the process matter most then. */
static int status_metrics(struct rpc *rpc)
{
	struct buf *out = &rpc->rs->body;
	struct store_usage usage = { 0 };
	const struct http_server *server = rpc->http ? atomic_load(rpc->http) : NULL;

	store_usage(rpc->store, &usage, NULL);
	rpc->rs->content_type = "text/plain; version=0.0.4";
	counters_put(rpc->counters, out);
	latency_put(rpc->latency, out);
	if (server)
		pools_put(server, out);
	if (rpc->limits)
		tenant_limits_put(rpc->limits, out);
	buf_printf(out,
		   "# HELP cameo_memory_bytes Resident memory of the server.\n"
		   "# TYPE cameo_memory_bytes gauge\n"
		   "cameo_memory_bytes %zu\n"
		   "# HELP cameo_store_bytes Disk space of the store, all tenants.\n"
		   "# TYPE cameo_store_bytes gauge\n"
		   "cameo_store_bytes %" PRIu64 "\n"
		   "# HELP cameo_store_days Day files (SQLite) or days (ClickHouse) in the store.\n"
		   "# TYPE cameo_store_days gauge\n"
		   "cameo_store_days %" PRIu32 "\n",
		   memory_budget_resident(), usage.bytes, usage.n_days);
	return 0;
}

/* The form of Prometheus' buildinfo, by which Grafana recognizes the data source. */
static int status_build(struct rpc *rpc)
{
	rpc->rs->content_type = "application/json";
	buf_put_str(&rpc->rs->body, "{\"status\":\"success\",\"data\":{\"version\":\"" CAMEO_VERSION
				    "\",\"revision\":\"\",\"branch\":\"\",\"buildUser\":\"\","
				    "\"buildDate\":\"\",\"goVersion\":\"\"}}");
	return 0;
}

/* Announces version 1 of the query API, to which querier.v1 belongs. */
static int status_version(struct rpc *rpc)
{
	struct response resp = response_to(&rpc->rs->body, rpc->json);
	size_t whole = response_begin(&resp, 0, NULL);

	response_put_int(&resp, 1, "QuerierAPI", 1);
	response_end(&resp, whole);
	return 0;
}

/* The flags by which clients decide which requests to send. */
static int status_features(struct rpc *rpc)
{
	static const struct {
		const char *name;
		bool enabled;
	} flags[] = { { "pyroscopeRuler", false },
		      { "pyroscopeRulerFunctions", false },
		      { "utf8LabelNames", false },
		      { "v2StorageLayer", true } };
	struct response resp = response_to(&rpc->rs->body, rpc->json);
	size_t whole = response_begin(&resp, 0, NULL);

	response_begin_list(&resp, "featureFlags");
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		size_t flag = response_begin(&resp, 1, NULL);

		response_put_string(&resp, 1, "name", flags[i].name);
		response_put_bool(&resp, 2, "enabled", flags[i].enabled);
		response_end(&resp, flag);
	}
	response_end_list(&resp);
	response_end(&resp, whole);
	return 0;
}

/* No settings are stored. */
static int status_settings(struct rpc *rpc)
{
	struct response resp = response_to(&rpc->rs->body, rpc->json);

	response_end(&resp, response_begin(&resp, 0, NULL));
	return 0;
}

static const struct api_method methods[] = {
	{ "/version.v1.Version/Version", connect_call, status_version, API_CLIENT, API_FREE,
	  "Return the version of the query API", NULL, NULL },
	{ "/capabilities.v1.FeatureFlagsService/GetFeatureFlags", connect_call, status_features,
	  API_CLIENT, API_FREE, "List the supported features", NULL, NULL },
	{ "/settings.v1.SettingsService/Get", connect_call, status_settings, API_CLIENT, API_FREE,
	  "Return the stored settings, which are always empty", NULL, NULL },
	{ "/ready", connect_get, status_ready, API_OPEN, API_FREE,
	  "Report whether the server can store profiles and answer queries", NULL, NULL },
	{ "/metrics", connect_get, status_metrics, API_READ_ALL, API_FREE,
	  "Return metrics for Prometheus", NULL, NULL },
	{ "/api/v1/status/buildinfo", connect_get, status_build, API_CLIENT, API_FREE,
	  "Return the version of the server", NULL, NULL },
};
API_LIST(status_api, methods);
