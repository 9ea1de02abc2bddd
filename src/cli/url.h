/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Profiles of servers. A query to a Pyroscope server, such as Cameo's own, is its address with
 * selector and range:
 *
 *	http://HOST:PORT[/TENANT...]?query=TYPE{LABEL="VALUE"}&from=now-1h&until=now&groupBy=LABEL
 *
 * Each part may be omitted. groupBy is an extension of Cameo: samples have that label only. Any
 * other URL must respond with a profile, as Go's /debug/pprof/profile does. $CAMEO_TOKEN is sent as
 * a bearer token.
 */
#include <stdbool.h>
#include <stdint.h>

struct buf;
struct err;

bool url_is(const char *text);

/**
 * url_fetch() - fetch a profile
 *
 * @label: the label that samples should have unless the URL has a groupBy; or NULL.
 *
 * Redirects to another server and responses beyond the codecs' limit of bytes are errors of the
 * client (net/http_client.h). A request takes at most five minutes.
 *
 * Return: 0 and the bytes of the profile, appended to @out; -EINVAL for a malformed URL; the
 * client's or server's error, with the reason in @err.
 */
int url_fetch(const char *url, const char *label, struct buf *out, struct err *err);

/* Reads "now-90m", seconds or milliseconds since 1970, or "2026-11-21T08:00:00Z". 0 or -EINVAL. */
int url_parse_time(const char *text, int64_t now_ms, int64_t *out_ms);

struct url_query {
	char base[512], type[256], selector[1024];
	char group_by[256]; /* "": none */
	int64_t from_ms, until_ms;
};

/* Splits the URL of a query. 0; -ENOENT if it is not a query; -EINVAL with the reason. */
int url_parse_query(const char *url, int64_t now_ms, struct url_query *out, struct err *err);
