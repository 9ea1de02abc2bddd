/* SPDX-License-Identifier: Apache-2.0 */
#include "net/listen_socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/err.h"

enum { BACKLOG = 4096 };

static uint16_t port_of(const struct sockaddr_storage *a)
{
	return ntohs(a->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)a)->sin6_port
					      : ((const struct sockaddr_in *)a)->sin_port);
}

int listen_socket(const char *host, uint16_t port, uint16_t *out_port, struct err *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	_cleanup_(closep) int fd = -1;
	struct sockaddr_storage bound = { 0 };
	socklen_t len = sizeof(bound);
	struct addrinfo *ai = NULL;
	char text[8];
	int r, on = 1;

	snprintf(text, sizeof(text), "%u", port);
	r = getaddrinfo(host, text, &hints, &ai);
	if (r)
		return err_set(err, -EINVAL, "cannot resolve \"%s\": %s", host, gai_strerror(r));
	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind(fd, ai->ai_addr, ai->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)&bound, &len) < 0)
		r = err_set(err, -errno, "cannot listen on %s:%s: %s", host, text, strerror(errno));
	freeaddrinfo(ai);
	if (r < 0)
		return r;
	*out_port = port_of(&bound);
	return steal_fd(&fd);
}
