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

/* Returns true if @text begins like a URL of HTTP or HTTPS, and is therefore not a file. */
bool url_is(const char *text);

/**
 * url_fetch() - fetch a profile
 *
 * @label: the label that samples should have unless the URL has a groupBy; or NULL.
 * @id: the span or trace whose samples a query selects, 16 or 32 hexadecimal digits; or NULL. It is
 * ignored if the URL is not a query.
 *
 * Redirects to another server and responses beyond the codecs' limit of bytes are errors of the
 * client (net/http_client.h). A request takes at most five minutes.
 *
 * Return: 0 and the bytes of the profile, appended to @out; -EINVAL for a malformed URL; the
 * client's or server's error, with the reason in @err.
 */
int url_fetch(const char *url, const char *label, const char *id, struct buf *out, struct err *err);

/* Returns true if @text is the URL of a query rather than of a profile. */
bool url_is_query(const char *text);

/*
 * Posts @body, of the media type @type, to the method @path of the server at @base, with
 * $CAMEO_TOKEN. Returns 0 and the response, appended to @out; the errors of url_fetch().
 */
int url_post(const char *base, const char *path, const char *type, const struct buf *body,
	     struct buf *out, struct err *err);

/*
 * Reads "now-90m", seconds or milliseconds since 1970, or "2026-11-21T08:00:00Z". Returns 0 or
 * -EINVAL.
 */
int url_parse_time(const char *text, int64_t now_ms, int64_t *out_ms);

/* The parts of a query, with the defaults in place of those that the URL omits. */
struct url_query {
	char base[512];            /* scheme, host, port and path, without a slash at the end */
	char type[256];            /* profile type, such as process_cpu:cpu:nanoseconds:... */
	char selector[1024];       /* "{}": all series */
	char group_by[256];        /* "": none */
	int64_t from_ms, until_ms; /* since 1970; from is before until */
};

/*
 * Splits @url, for which url_is() is true, into the parts of a query. @now_ms is the time to which
 * relative times refer. Returns 0; -ENOENT if it is not a query; -EINVAL with the reason.
 */
int url_parse_query(const char *url, int64_t now_ms, struct url_query *out, struct err *err);
