/* SPDX-License-Identifier: Apache-2.0 */
#include "net/relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/deadline.h"
#include "net/tls.h"

/* Bytes that the buffers of the pair may hold when the plain end closes. */
enum { MAX_UNSENT = 512 * 1024 };

enum { MAX_MOVES = 4 }; /* in each direction at a time */

/* The bytes that were read from one end and not accepted by the other; usually none. */
struct direction {
	uint8_t *data;
	size_t at, len;
	bool ended; /* nothing more can be read */
};

struct relay {
	struct tls_session *tls;
	int fd;
	int64_t closed_ms; /* when the plain end closed; 0 before */
	bool is_shut;      /* the plain end knows that the client sends nothing more */
	struct direction in, out;
};

/* The ends, with the results of recv() and send(). */
struct ends {
	ssize_t (*recv)(struct relay *r, void *data, size_t len);
	ssize_t (*send)(struct relay *r, const void *data, size_t len);
};

static ssize_t recv_tls(struct relay *r, void *data, size_t len)
{
	return tls_recv(r->tls, data, len);
}

static ssize_t send_tls(struct relay *r, const void *data, size_t len)
{
	return tls_send(r->tls, data, len);
}

static ssize_t recv_plain(struct relay *r, void *data, size_t len)
{
	ssize_t n = TEMP_FAILURE_RETRY(recv(r->fd, data, len, 0));

	/* The server closed its end without reading the remainder of a request that it refused. */
	return n < 0 && errno == ECONNRESET ? 0 : n;
}

static ssize_t send_plain(struct relay *r, const void *data, size_t len)
{
	return TEMP_FAILURE_RETRY(send(r->fd, data, len, MSG_NOSIGNAL));
}

static const struct ends inwards = { recv_tls, send_plain };
static const struct ends outwards = { recv_plain, send_tls };

int relay_new(struct relay **out, struct tls_session *tls, int *out_fd)
{
	struct relay *r = calloc(1, sizeof(*r));
	int pair[2];

	if (!r)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
		free(r);
		return -errno;
	}
	r->tls = tls;
	r->fd = pair[0];
	*out_fd = pair[1];
	*out = r;
	return 0;
}

void relay_free(struct relay *r)
{
	if (!r)
		return;
	closep(&r->fd);
	free(r->in.data);
	free(r->out.data);
	free(r);
}

int relay_fd(const struct relay *r)
{
	return r->fd;
}

/* Sends what remains. Returns 1 if bytes were sent, 0 if the end must become ready, or -errno. */
static int send_rest(struct relay *r, struct direction *d, const struct ends *ends)
{
	ssize_t n = ends->send(r, d->data + d->at, d->len - d->at);

	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	d->at += (size_t)n;
	if (d->at == d->len) {
		free(d->data);
		*d = (struct direction){ .ended = d->ended };
	}
	return 1;
}

/* Keeps @len bytes until the other end is ready. Returns 1 or -ENOMEM. */
static int put_aside(struct direction *d, const uint8_t *data, size_t len)
{
	d->data = malloc(len);
	if (!d->data)
		return -ENOMEM;
	memcpy(d->data, data, len);
	d->at = 0;
	d->len = len;
	return 1;
}

/* Moves the bytes of one call in one direction. Returns the same values as send_rest(). */
static int move(struct relay *r, struct direction *d, const struct ends *ends, uint8_t *room)
{
	ssize_t n, sent;

	if (d->len)
		return send_rest(r, d, ends);
	if (d->ended)
		return 0;
	n = ends->recv(r, room, RELAY_ROOM_LEN);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	d->ended = n == 0;
	if (d->ended)
		return 1;
	sent = ends->send(r, room, (size_t)n);
	if (sent < 0 && errno != EAGAIN)
		return -errno;
	sent = sent < 0 ? 0 : sent;
	return sent == n ? 1 : put_aside(d, room + sent, (size_t)(n - sent));
}

/*
 * A plain end that has closed accepts nothing more, but the bytes that it sent before may still be
 * in the pair. Bytes that the client sends from then on are dropped.
 */
static int move_in(struct relay *r, uint8_t *room)
{
	int n = move(r, &r->in, &inwards, room);

	if (n == -EPIPE || n == -ECONNRESET) {
		free(r->in.data);
		r->in = (struct direction){ .ended = true };
		n = 0;
	}
	if (n >= 0 && r->in.ended && !r->in.len && !r->is_shut) {
		shutdown(r->fd, SHUT_WR);
		r->is_shut = true;
	}
	return n;
}

int relay_pump(struct relay *r, uint8_t room[RELAY_ROOM_LEN], int64_t now_ms)
{
	int in, out, n = 0;

	do {
		in = move_in(r, room);
		out = move(r, &r->out, &outwards, room);
		if (r->out.ended && !r->closed_ms)
			r->closed_ms = now_ms;
		if (r->out.ended && !r->out.len) {
			tls_bye(r->tls);
			return -EPIPE;
		}
		if (in < 0 || out < 0)
			return in < 0 ? in : out;
	} while ((in || out) && ++n < MAX_MOVES);
	return in || out;
}

bool relay_is_late(const struct relay *r, unsigned int idle_seconds, int64_t now_ms)
{
	return r->closed_ms && deadline_is_over(r->closed_ms, MAX_UNSENT, idle_seconds, now_ms);
}
