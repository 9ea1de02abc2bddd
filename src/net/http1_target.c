/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http1_target.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "net/http_work.h"

enum {
	ARGUMENT_BYTES = 128, /* that libmicrohttpd needs for an argument besides its text */
	REST = 4 * 1024,      /* part of the memory that is reserved for headers and a refusal */
};

static char refused; /* only its address is used */

void *http1_target_check(void *cls, const char *target, struct MHD_Connection *c)
{
	const char *arguments = strchr(target, '?');
	size_t len = strlen(target), n = 1;

	if (!arguments)
		return NULL;
	for (const char *at = arguments; at; at = strchr(at + 1, '&'))
		n++;
	if (len < HTTP1_TARGET_MEMORY - REST &&
	    n < (HTTP1_TARGET_MEMORY - REST - len) / ARGUMENT_BYTES)
		return NULL;
	/* The target lies in the buffer of the connection, which is writable. */
	((char *)(uintptr_t)arguments)[1] = 0;
	return &refused;
}

bool http1_target_is_refused(const void *context)
{
	return context == &refused;
}

int http1_target_split(struct http_request *rq)
{
	static const char *const schemes[] = { "http://", "https://" };
	const char *host = NULL;
	size_t len;

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (!strncasecmp(rq->path, schemes[i], strlen(schemes[i])))
			host = rq->path + strlen(schemes[i]);
	if (!host)
		return 0;
	len = strcspn(host, "/");
	if (!len || memchr(host, '@', len))
		return -EINVAL;
	rq->authority = strndup(host, len);
	if (!rq->authority)
		return -ENOMEM;
	if (host[len])
		memmove(rq->path, host + len, strlen(host + len) + 1);
	else
		strcpy(rq->path, "/");
	return 0;
}
