/* SPDX-License-Identifier: Apache-2.0 */
/* A truncated packet is an error. Unexpected descriptors are closed, so that none leaks. */
#include "symbol/worker_io.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

int worker_send(int sock, const struct buf *packet, int fd)
{
	struct iovec iov = { .iov_base = packet->data, .iov_len = packet->len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union control control = { 0 };
	ssize_t n;

	if (buf_error(packet))
		return buf_error(packet);
	if (fd >= 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	}
	do
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* Returns the last descriptor in @msg, or -1. Others are closed. */
static int take_fd(struct msghdr *msg)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	int fd = -1;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return -1;
	for (size_t at = CMSG_LEN(0); at + sizeof(fd) <= c->cmsg_len; at += sizeof(fd)) {
		if (fd >= 0)
			close(fd);
		memcpy(&fd, (char *)c + at, sizeof(fd));
	}
	return fd;
}

ssize_t worker_recv(int sock, void *data, size_t cap, int *out_fd)
{
	struct iovec iov = { .iov_base = data, .iov_len = cap };
	union control control = { 0 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (out_fd) { /* Without a control buffer, the kernel discards descriptors. */
		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		*out_fd = -1;
	}
	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (out_fd)
		*out_fd = take_fd(&msg);
	if (!(msg.msg_flags & MSG_TRUNC))
		return n;
	if (out_fd && *out_fd >= 0) {
		close(*out_fd);
		*out_fd = -1;
	}
	return -EMSGSIZE;
}
