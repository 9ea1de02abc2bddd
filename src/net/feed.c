/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocking reads and writes of whole messages. A peer that closes its end, also in the middle of a
 * message, is reported as -EPIPE and not by SIGPIPE.
 */
#include "net/feed.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"

struct head {
	uint32_t len;
};

/* The text follows without a terminating NUL, which the zeroed struct of the reader provides. */
struct answer_head {
	int32_t status;
	uint32_t len;
};

static int send_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPIPE;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Signals do not end a read; a closed peer does. */
static int recv_all(int fd, void *data, size_t len)
{
	char *p = data;

	while (len) {
		ssize_t n = recv(fd, p, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPIPE;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int feed_ask(int fd, const void *data, size_t len, struct feed_answer *out)
{
	struct head head = { .len = (uint32_t)len };
	struct answer_head answer;
	int r;

	*out = (struct feed_answer){ 0 };
	if (len > FEED_MESSAGE_MAX)
		return -EMSGSIZE;
	r = send_all(fd, &head, sizeof(head));
	if (r == 0)
		r = send_all(fd, data, len);
	if (r == 0)
		r = recv_all(fd, &answer, sizeof(answer));
	if (r == 0 && answer.len >= FEED_TEXT_MAX)
		r = -EPIPE;
	if (r == 0)
		r = recv_all(fd, out->text, answer.len);
	if (r == 0)
		out->status = answer.status;
	return r;
}

/* Reads in pieces, so that a forged length does not cause a large allocation. */
int feed_next(int fd, struct buf *out)
{
	uint8_t piece[1 << 14];
	struct head head;
	int r = recv_all(fd, &head, sizeof(head));

	if (r < 0)
		return r;
	if (head.len > FEED_MESSAGE_MAX)
		return -EBADMSG;
	out->len = 0;
	for (uint32_t left = head.len; left && r == 0;) {
		size_t n = left < sizeof(piece) ? left : sizeof(piece);

		r = recv_all(fd, piece, n);
		if (r == 0)
			buf_put(out, piece, n);
		left -= (uint32_t)n;
	}
	return r ? r : buf_error(out);
}

int feed_answer(int fd, const struct feed_answer *a)
{
	struct answer_head head = { .status = a->status, .len = (uint32_t)strlen(a->text) };
	int r = send_all(fd, &head, sizeof(head));

	return r ? r : send_all(fd, a->text, head.len);
}
