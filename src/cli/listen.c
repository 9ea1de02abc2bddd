/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host names are not resolved here: the server does that when it opens the address. The last colon
 * separates the port; an IPv6 address is written in brackets, which are removed.
 */
#include "cli/listen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "options/value.h"

int listen_parse(void *out, const char *text, struct err *why)
{
	const char *colon = strrchr(text, ':');
	struct listen_address *a = out;
	size_t len = colon ? (size_t)(colon - text) : 0;
	uint64_t port;

	if (!colon || !value_parse_number(colon + 1, &port) || port > UINT16_MAX ||
	    len >= sizeof(a->host))
		return err_set(why, -EINVAL, "expected HOST:PORT or :PORT, such as 127.0.0.1:4040");
	if (len > 2 && text[0] == '[' && colon[-1] == ']') {
		text++;
		len -= 2;
	}
	snprintf(a->host, sizeof(a->host), "%.*s", len ? (int)len : 7, len ? text : "0.0.0.0");
	a->port = (uint16_t)port;
	return 0;
}

/* Any other spelling counts as reachable from outside, which is the safe assumption. */
bool listen_is_loopback(const char *host)
{
	return !strncmp(host, "127.", 4) || !strcmp(host, "::1") || !strcmp(host, "localhost");
}
