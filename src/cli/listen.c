/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/listen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool listen_split(char *listen, const char **out_host, uint16_t *out_port)
{
	char *colon = strrchr(listen, ':'), *end;
	unsigned long port;

	if (!colon || !colon[1])
		return false;
	errno = 0;
	port = strtoul(colon + 1, &end, 10);
	if (errno || *end || port > 65535)
		return false;
	*colon = 0;
	if (listen[0] == '[' && colon > listen + 1 && colon[-1] == ']') {
		colon[-1] = 0;
		listen++;
	}
	*out_host = listen[0] ? listen : "0.0.0.0";
	*out_port = (uint16_t)port;
	return true;
}

bool listen_is_loopback(const char *host)
{
	return !strncmp(host, "127.", 4) || !strcmp(host, "::1") || !strcmp(host, "localhost");
}
