/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The server: a store behind HTTP, and retention once a minute. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "server/auth.h"
#include "server/naming.h"

struct err;
struct server;

struct server_options {
	const char *host;
	uint16_t port; /* 0: any that is free */
	const char *
		otlp_host; /* another place for what the first takes, as OTLP has a port; or NULL */
	uint16_t otlp_port;
	const char *dir;
	const char *store_url; /* of a ClickHouse instead; or NULL */
	int64_t max_age_ns;    /* 0: no limit */
	uint64_t max_bytes;
	struct auth_options auth; /* no file: anybody may ask */
	size_t max_memory;        /* of the process; beyond it requests are refused; 0: no limit */
	size_t max_series;        /* that a service begins in a day; 0: no limit */
	int64_t max_range_ns;     /* of a question; 0: no limit */
	int64_t max_query_ns;     /* how long one may take; 0: half a minute */
	bool tenants;             /* told apart by X-Scope-OrgID, which must be there */
	const char *cert_file;    /* PEM; NULL: no TLS */
	const char *key_file;
	struct naming_options naming;
	void (*warn)(void *ctx, const char *message); /* from any thread; or NULL */
	void *warn_ctx;
};

/* 0 and a server that answers; -errno, and @err says why. */
int server_open(struct server **out, const struct server_options *opt, struct err *err);
/* What is under way is answered first. */
void server_close(struct server *s);

DEFINE_FREEP(struct server, server_close)

/*
 * Store what comes from @fd (net/feed.h: OTLP requests of this program's own agent,
 * whose attributes are labels as they are), until its other end is closed.
 * Returns 0 then; -EBADMSG.
 */
int server_feed(struct server *s, int fd);

uint16_t server_port(const struct server *s);
uint16_t server_otlp_port(const struct server *s);
