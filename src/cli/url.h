/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Profiles that a server has. A Pyroscope server's (Cameo's own among them) is
 * named by its address with selector and range,
 *
 *	http://HOST:PORT[/TENANT...]?query=TYPE{LABEL="VALUE"}&from=now-1h&until=now&groupBy=LABEL
 *
 * each of which may be left out (groupBy is Cameo's: samples have that label, else none); any other
 *URL is one that answers with a profile, as Go's /debug/pprof/profile does. $CAMEO_TOKEN is sent as
 *a bearer's.
 */
#include <stdbool.h>
#include <stdint.h>

struct buf;
struct err;

bool url_is(const char *text);

/* The bytes of the profile, with @label (or NULL) unless @url has a groupBy: 0, -EINVAL for a URL
 * that makes no sense, or why there are none. */
int url_fetch(const char *url, const char *label, struct buf *out, struct err *err);

/* "now-90m", seconds or milliseconds since 1970, "2026-11-21T08:00:00Z": 0 or -EINVAL. */
int url_time(const char *text, int64_t now_ms, int64_t *out_ms);

/* What @url asks of a Pyroscope server; 0, -ENOENT if it is a plain URL, -EINVAL. */
struct url_question {
	char base[512], type[256], selector[1024];
	char group_by[256]; /* "": none */
	int64_t from_ms, until_ms;
};
int url_question(const char *url, int64_t now_ms, struct url_question *out, struct err *err);
