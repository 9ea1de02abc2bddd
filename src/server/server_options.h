/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The configuration of a server, as the command line sets it (cli/server.c). server_open() checks
 * it. Strings must outlive the server.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/auth.h"
#include "server/ingest_symbolizer.h"
#include "server/oidc.h"
#include "server/tenant_limits.h"

/* Zero-initialize it: 0 and NULL are valid for everything but host and dir. */
struct server_options {
	const char *host;
	uint16_t port;         /* 0 for any free port */
	const char *otlp_host; /* a second address for OTLP/gRPC, which has a port of its own by
				  convention; or NULL */
	uint16_t otlp_port;
	const char *dir;
	bool read_only; /* dir is a copy in which nothing may be changed; pushes are refused */
	const char *store_url; /* of a ClickHouse database instead of dir; or NULL */
	int64_t max_age_ns;    /* retention; 0 for no limit */
	uint64_t max_bytes;
	struct auth_options auth; /* without files, anyone may use the server */
	int64_t session_idle_ns;  /* after which an unused session of the page ends; 0 for 12 h */
	int64_t session_max_ns;   /* after which every session ends; 0 for 7 days */
	struct oidc_options oidc; /* issuer NULL: no tokens of an issuer */
	/*
	 * Without authentication, requests must name a host of origin_host_is_ours(), so that a web
	 * page whose name resolves to this machine cannot read profiles (DNS rebinding).
	 */
	bool check_host;
	const char *host_names;   /* more names of this server, separated by commas; or NULL */
	const char *cors_origins; /* of other pages that may use the API, separated by commas; or
				     NULL */
	size_t max_memory; /* bytes of the process, beyond which requests are refused; 0 for no
			      limit */
	size_t max_series; /* that a service may create per day; 0 for no limit */
	size_t max_names;  /* bytes of names in a profile; 0 for 16 MiB */
	size_t max_nodes;  /* stack nodes that a query may merge; 0 for no limit */
	struct tenant_limits_options tenant_limits;
	int64_t max_range_ns;  /* of a query; 0 for no limit */
	int64_t max_query_ns;  /* time limit of a query; 0 for 30 s */
	bool tenants;          /* requests carry the tenant in X-Scope-OrgID */
	const char *cert_file; /* PEM; NULL disables TLS */
	const char *key_file;
	const char *client_ca_file; /* PEM; certificates that it issued identify clients; or NULL */
	struct ingest_symbolizer_options symbolizer;
	const char *access_log; /* file of the access log, "-" for standard output; or NULL */
	bool access_log_json;   /* instead of logfmt */
	int64_t slow_query_ns;  /* queries that take longer are reported; 0 for none */
	void (*warn)(void *ctx, const char *message); /* called from any thread; or NULL */
	void *warn_ctx;
};
