/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A running server, as the modules see it that make it up: server.c opens and closes it, requests.c
 * answers requests. All members but those named here are constant while requests are answered:
 * http is set when the HTTP server has opened, shrunk_ms is atomic, and the lock guards stop.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/admission.h"
#include "server/counters.h"
#include "server/keys.h"
#include "server/memory_budget.h"
#include "server/readiness.h"
#include "server/retention.h"
#include "server/server_options.h"

struct server {
	struct server_options opt;
	struct store *store;
	struct ingest_symbolizer *symbolizer;
	struct agents *agents;
	struct quota *quota;
	struct query_results *results;
	struct tenant_limits *limits;
	_Atomic int64_t shrunk_ms;
	struct readiness readiness;
	struct http_server *_Atomic http;
	struct access *access; /* NULL: no authentication */
	struct oidc *oidc;     /* NULL: no tokens of an issuer */
	struct admission admission;
	struct watcher *watcher;
	struct latency *latency;
	struct request_log *log; /* NULL: no access log */
	struct keys keys;
	struct counters counters;
	struct memory_budget memory;
	struct retention retention; /* of the thread for retention */
	uint64_t seed;              /* of the hashes of tenants */
	size_t max_response;        /* bytes */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop, retaining;
	pthread_t retainer;
};
