/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Browsers add Sec-Fetch-Site and Origin themselves; pages cannot set them (Fetch standard,
 * forbidden request headers). Sec-Fetch-Site also holds behind a proxy that changes Host, but is
 * sent to encrypted and local servers only; elsewhere Origin is compared with Host.
 */
#include "net/origin.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "net/http.h"

enum { NAME_LEN = 256 };

/* Copies the host of "host", "host:port" or "[address]:port" without brackets. */
static bool host_of(const char *authority, char out[NAME_LEN])
{
	bool is_bracketed = authority[0] == '[';
	size_t len = strcspn(authority + is_bracketed, is_bracketed ? "]" : ":");
	const char *rest = authority + is_bracketed + len;

	if (is_bracketed && *rest++ != ']')
		return false;
	if (!len || len >= NAME_LEN || (*rest && *rest != ':') ||
	    (*rest && rest[1 + strspn(rest + 1, "0123456789")]))
		return false;
	memcpy(out, authority + is_bracketed, len);
	out[len] = '\0';
	return true;
}

static bool is_numeric(const char *host)
{
	struct in6_addr addr;

	return inet_pton(AF_INET, host, &addr) == 1 || inet_pton(AF_INET6, host, &addr) == 1;
}

static bool is_listed(const char *host, const char *names)
{
	size_t len = strlen(host);

	while (names && *names) {
		size_t n = strcspn(names, ",");

		if (n == len && !strncasecmp(names, host, n))
			return true;
		names += n + (names[n] == ',');
	}
	return false;
}

static bool is_this_machine(const char *host)
{
	char name[NAME_LEN] = "";

	return gethostname(name, sizeof(name) - 1) == 0 && !strcasecmp(name, host);
}

bool origin_host_is_ours(const char *host, const char *names)
{
	char name[NAME_LEN];

	return host_of(host, name) && (is_numeric(name) || !strcasecmp(name, "localhost") ||
				       is_this_machine(name) || is_listed(name, names));
}

static bool may_change(const struct http_request *rq)
{
	const char *method = http_request_method(rq);

	return strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0;
}

bool origin_is_listed(const char *origin, const char *origins)
{
	return is_listed(origin, origins);
}

/* Returns true if a user followed a link or typed the address. */
static bool is_navigation(const struct http_request *rq)
{
	const char *mode = http_request_header(rq, "Sec-Fetch-Mode");

	return !may_change(rq) && mode && !strcmp(mode, "navigate");
}

/* Origin is compared with Host, in which the port is that of the page's address. */
static bool is_own_origin(const struct http_request *rq, const char *origin)
{
	const char *host = http_request_host(rq), *authority = strstr(origin, "://");

	return authority && host && !strcasecmp(authority + 3, host);
}

bool origin_is_own(const struct http_request *rq)
{
	const char *site = http_request_header(rq, "Sec-Fetch-Site");
	const char *origin = http_request_header(rq, "Origin");

	return site ? !strcmp(site, "same-origin") : origin && is_own_origin(rq, origin);
}

bool origin_is_foreign(const struct http_request *rq, const char *allowed)
{
	const char *site = http_request_header(rq, "Sec-Fetch-Site");
	const char *origin = http_request_header(rq, "Origin");

	if (origin && allowed && is_listed(origin, allowed))
		return false;
	if (site)
		return strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0 &&
		       !is_navigation(rq);
	return origin && !is_own_origin(rq, origin);
}
