/* SPDX-License-Identifier: Apache-2.0 */
#include "roles/message.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	char bytes[CMSG_SPACE(ROLE_FDS_MAX * sizeof(int))];
	struct cmsghdr align;
};

int role_header_check(const struct role_header *h, size_t len, size_t n_fds)
{
	bool is_valid = len >= sizeof(*h) && len <= sizeof(*h) + ROLE_BODY_MAX && h->len == len &&
			h->version == ROLE_VERSION && h->type && h->type < ROLE_MESSAGE_TYPE_MAX &&
			n_fds <= ROLE_FDS_MAX && h->n_fds == n_fds;

	return is_valid ? 0 : -EBADMSG;
}

int role_message_send(int sock, const struct role_header *h, const void *body, size_t len,
		      const int *fds, size_t n_fds, int flags)
{
	struct role_header out = *h;
	struct iovec iov[] = { { &out, sizeof(out) }, { (void *)body, len } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	union control control = { 0 };
	ssize_t n;

	if (len > ROLE_BODY_MAX || n_fds > ROLE_FDS_MAX)
		return -EMSGSIZE;
	out.len = (uint32_t)(sizeof(out) + len);
	out.version = ROLE_VERSION;
	out.n_fds = (uint8_t)n_fds;
	if (n_fds) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(&control.align), fds, n_fds * sizeof(int));
	}
	do
		n = sendmsg(sock, &msg, MSG_NOSIGNAL | flags);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return 0;
	return errno == ECONNRESET || errno == ENOTCONN ? -EPIPE : -errno;
}

/* Takes the descriptors of @msg. Returns their number. */
static size_t take_fds(struct msghdr *msg, int out[ROLE_FDS_MAX])
{
	size_t n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = CMSG_LEN(0); at + sizeof(int) <= c->cmsg_len; at += sizeof(int)) {
			int fd;

			memcpy(&fd, (char *)c + at, sizeof(fd));
			if (n < ROLE_FDS_MAX)
				out[n++] = fd;
			else
				close(fd);
		}
	}
	return n;
}

void role_message_close_fds(struct role_message *m)
{
	for (size_t i = 0; i < m->h.n_fds; i++)
		if (m->fds[i] >= 0)
			close(m->fds[i]);
	m->h.n_fds = 0;
}

int role_message_receive(int sock, struct role_message *m, int flags)
{
	struct iovec iov[] = { { &m->h, sizeof(m->h) }, { m->body, sizeof(m->body) } };
	union control control = { 0 };
	struct msghdr msg = { .msg_iov = iov,
			      .msg_iovlen = 2,
			      .msg_control = control.bytes,
			      .msg_controllen = sizeof(control.bytes) };
	size_t n_fds;
	ssize_t n;

	m->h.n_fds = 0;
	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | flags);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n == 0 || errno == ECONNRESET ? -EPIPE : -errno;
	n_fds = take_fds(&msg, m->fds);
	if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ||
	    role_header_check(&m->h, (size_t)n, n_fds) < 0) {
		m->h.n_fds = (uint8_t)n_fds;
		role_message_close_fds(m);
		return -EBADMSG;
	}
	m->body_len = m->h.len - (uint32_t)sizeof(m->h);
	return 0;
}
