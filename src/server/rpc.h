/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the handlers of requests share. A handler returns 0 and has filled the body, or -errno. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/answer.h"

struct agents;
struct buf;
struct counters;
struct err;
struct http_request;
struct http_response;
struct naming;
struct quota;
struct server_options;
struct store;

struct rpc {
	struct store *store;
	struct agents *agents;
	struct quota *quota;   /* or NULL */
	struct naming *naming; /* or NULL: what has no names is kept so */
	const struct server_options *opt;
	struct counters *counters;
	const char *tenant;
	const struct http_request *rq;
	const char *method; /* what of the path is behind the route's: an RPC's name */
	const void *body;   /* decompressed */
	size_t len;
	bool json;
	struct http_response *rs;
	struct err *err;
};

/* push.v1 */
int push_rpc(struct rpc *rpc);
int push_ingest(struct rpc *rpc);

/* OTLP's profiles; nothing is answered but that they are kept. */
int otlp_export(struct rpc *rpc);

/* The same from Cameo's own agent: attributes are labels as they are. */
int otlp_own(struct rpc *rpc);

/* querier.v1: -ENOSYS for a method that is not there. */
int querier_rpc(struct rpc *rpc);

/* cameo.v1.PageService */
int view_rpc(struct rpc *rpc);

/* What agents say of themselves: POST and GET; and one report, which is answered with nothing. */
int agents_resource(struct rpc *rpc);
int agents_report(struct rpc *rpc);

/* A merged profile as a file. */
int download_profile(struct rpc *rpc);

/* What older clients ask: a flame graph and a time line, or two compared. */
int render_single(struct rpc *rpc);
int render_diff(struct rpc *rpc);

/* GETs that are not about profiles. */
int status_ready(struct rpc *rpc);
int status_metrics(struct rpc *rpc);
int status_build(struct rpc *rpc);

/* Small services of Pyroscope's that clients begin with. */
int status_version(struct rpc *rpc);
int status_features(struct rpc *rpc);
int status_settings(struct rpc *rpc);

/* The web page; -ENOENT in a build without it (-Dui=disabled). */
int page_get(struct rpc *rpc);
