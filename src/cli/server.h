/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* `cameo server` as a part of `cameo up`. */
#include "cli/listen.h"
#include "options/option.h"

/*
 * The values of both tables below. A NULL string is an option that was not given, and a limit of 0
 * is none.
 */
struct server_args {
	char *dir, *read_only_dir, *store_url;
	struct listen_address listen, otlp_listen;
	char *token_file, *basic_file, *cert_file, *key_file, *debuginfod;
	char *client_ca_file, *subject_file, *store_password_file;
	char *oidc_issuer, *oidc_jwks, *oidc_audience, *oidc_scope_claim, *oidc_tenant_claim;
	char *cors_origins;
	char *host_names;
	uint64_t keep_days, keep_gib, query_days, max_series;
	uint64_t memory, max_names;           /* bytes */
	uint64_t push_rate, shared_push_rate; /* bytes per second */
	uint64_t profile_rate, shared_profile_rate, max_queries, query_nodes;
	uint64_t query_ns, slow_query_ns, session_idle_ns, session_max_ns;
	char *access_log;
	bool access_log_json;
	bool insecure, tenants, store_info, hash_secret;
};

/* The options that `cameo up` has too, and those of `cameo server` alone. */
extern const struct option_spec server_common_options[];
extern const struct option_spec server_only_options[];

/*
 * Runs a server. It also stores what arrives at @fd (see server_feed()) and ends when that is
 * closed; with an @fd of -1 it ends with SIGINT or SIGTERM. Errors are printed. Must be called
 * before the process starts threads, because it blocks signals and drops privileges. Returns an
 * exit status.
 */
int server_run_command(const struct server_args *a, int fd);
