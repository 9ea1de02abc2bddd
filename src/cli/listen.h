/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The address at which a server listens, as a command line or a config file names it. */
#include <stdbool.h>
#include <stdint.h>

struct err;

struct listen_address {
	char host[256]; /* "": not given */
	uint16_t port;  /* 0: any free one */
};

/*
 * Reads "HOST:PORT", "[HOST]:PORT" or ":PORT" (all addresses) into *@out, a struct listen_address.
 * It is the parse function of an option_spec. Returns 0 or -EINVAL.
 */
int listen_parse(void *out, const char *text, struct err *why);

/*
 * Returns true if @host is reachable from this machine alone. Only literal loopback addresses and
 * "localhost" are: a name that resolves to one may later resolve to another address.
 */
bool listen_is_loopback(const char *host);
