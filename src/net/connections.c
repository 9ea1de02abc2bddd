/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection that has moved TURN_BYTES waits in a list for its next turn, so that a client that
 * sends without a pause delays each of the others by one turn only.
 *
 * A handshake costs this server milliseconds of computing, but a client next to nothing, so another
 * thread does them (handshakes.h). Until it has finished a step, the connection is not closed but
 * only shut down.
 */
#include "net/connections.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "net/h2_session.h"
#include "net/http_work.h"
#include "net/relay.h"
#include "net/tls.h"

enum { TURN_BYTES = 64 * 1024 }; /* that a connection reads and sends in a turn */

void connections_wake(void *ctx)
{
	const struct connections *f = ctx;
	const uint64_t one = 1;

	while (write(f->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

int connections_add(struct connections *f, int fd, bool is_listener, struct connection **out)
{
	struct connection *c = calloc(1, sizeof(*c));
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET };

	if (!c)
		return -ENOMEM;
	*c = (struct connection){
		.all = f, .fd = fd, .is_listener = is_listener, .moved_ms = clock_monotonic_ms()
	};
	if (is_listener)
		ev.events = EPOLLIN;
	ev.data.ptr = c;
	if (epoll_ctl(f->epoll, EPOLL_CTL_ADD, fd, &ev) < 0) {
		free(c);
		return -errno;
	}
	c->next = f->first;
	if (c->next)
		c->next->prev = c;
	f->first = c;
	f->n += !is_listener;
	*out = c;
	return 0;
}

void connection_continue_later(struct connection *c)
{
	turns_add(&c->all->more, &c->turn, c, make_room_client(&c->peer));
}

/* False at the end of a turn. */
static bool may_move(struct connection *c)
{
	if (!c->left)
		connection_continue_later(c);
	return c->left > 0;
}

static void moved(struct connection *c, size_t n)
{
	c->left -= n < c->left ? n : c->left;
	c->moved_ms = clock_monotonic_ms();
}

static void unlink_connection(struct connection *c)
{
	struct connections *f = c->all;

	if (c->prev)
		c->prev->next = c->next;
	else
		f->first = c->next;
	if (c->next)
		c->next->prev = c->prev;
	f->n -= !c->is_listener;
	turns_remove(&c->turn);
	c->next = f->dead;
	f->dead = c;
}

void connections_bury(struct connections *f)
{
	while (f->dead) {
		struct connection *c = f->dead;

		f->dead = c->next;
		h2_session_free(c->h2);
		relay_free(c->relay);
		tls_session_free(c->tls);
		free(c);
	}
}

void connection_count_held(struct connection *c)
{
	const size_t now = c->h2 ? h2_session_held(c->h2) : 0;

	c->all->held += now - c->held;
	c->held = now;
}

void connection_drop(struct connection *c)
{
	if (c->handshake.is_requested && !handshakes_cancel(c->all->handshakes, &c->handshake)) {
		c->is_over = true;
		shutdown(c->fd, SHUT_RDWR);
		return;
	}
	if (c->h2)
		h2_session_abandon(c->h2);
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	turns_remove(&c->turn);
	connection_count_held(c);
	if (!c->h2 || !h2_session_working(c->h2))
		unlink_connection(c);
}

/* The bytes were only peeked at, so the other server reads them again. */
static void hand_on(struct connection *c)
{
	struct connections *f = c->all;
	const struct http_peer peer = c->peer;
	int fd = c->fd;

	epoll_ctl(f->epoll, EPOLL_CTL_DEL, fd, NULL);
	c->fd = -1;
	unlink_connection(c);
	f->opt.other(f->opt.ctx, fd, &peer);
}

/* The outbox of the session leaves in connection_drop(), before the socket is closed. */
static void shut_down(void *ctx)
{
	shutdown(((struct connection *)ctx)->fd, SHUT_RDWR);
}

/* Called by a worker. */
static void on_done(void *ctx, struct http_request *rq)
{
	struct connections *f = ((struct connection *)ctx)->all;

	pthread_mutex_lock(&f->lock);
	rq->next = f->done;
	f->done = rq;
	pthread_mutex_unlock(&f->lock);
	connections_wake(f);
}

/* Returns 0, or -errno if the connection must be closed. */
static int flush_out(struct connection *c)
{
	while (may_move(c)) {
		ssize_t n;

		if (!c->out_len) {
			n = h2_session_take(c->h2, &c->out);
			if (n <= 0)
				return (int)n;
			c->out_len = (size_t)n;
		}
		n = c->tls ? tls_send(c->tls, c->out, c->out_len)
			   : send(c->fd, c->out, c->out_len, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		c->out += n;
		c->out_len -= (size_t)n;
		h2_session_sent(c->h2, (size_t)n);
		moved(c, (size_t)n);
	}
	return 0;
}

static struct connection *largest(struct connections *f)
{
	struct connection *found = NULL;

	for (struct connection *c = f->first; c; c = c->next)
		if (c->fd >= 0 && c->held && (!found || c->held > found->held))
			found = c;
	return found;
}

/*
 * While the headers of all clients exceed their memory, closes the connection with most of them:
 * clients that have as few as others need not fear it. Returns -ENOBUFS if that is @c.
 */
static int limit_held(struct connection *c)
{
	struct connections *f = c->all;
	struct connection *most;

	connection_count_held(c);
	while (f->opt.max_headers && f->held > f->opt.max_headers && (most = largest(f))) {
		if (most == c)
			return -ENOBUFS;
		connection_drop(most);
	}
	return 0;
}

/*
 * Reads only while the client accepts responses, so that its unsent data stays bounded, and while
 * no worker identifies the client. respond_all() continues to read.
 */
int connection_pump(struct connection *c)
{
	int r;

	c->left = TURN_BYTES;
	r = flush_out(c);
	while (r == 0 && !c->out_len && !h2_session_is_paused(c->h2) && may_move(c)) {
		ssize_t n = c->tls ? tls_recv(c->tls, c->all->buf, CONNECTION_READ_LEN)
				   : recv(c->fd, c->all->buf, CONNECTION_READ_LEN, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		if (n == 0)
			return -EPIPE;
		moved(c, (size_t)n);
		r = h2_session_feed(c->h2, c->all->buf, (size_t)n);
		if (r == 0)
			r = limit_held(c);
		if (r == 0)
			r = flush_out(c);
	}
	return r;
}

/* Does the connection start with the HTTP/2 preface? 1, 0, or -EAGAIN if bytes are missing. */
static int is_h2(const struct connections *f, size_t len)
{
	static const char preface[] = "PRI * HTTP/2.0";
	size_t n = len < sizeof(preface) - 1 ? len : sizeof(preface) - 1;

	if (memcmp(f->buf, preface, n) != 0)
		return 0;
	return n < sizeof(preface) - 1 ? -EAGAIN : 1;
}

static int begin_h2(struct connection *c)
{
	struct connections *f = c->all;
	int r = h2_session_new(&c->h2, f->opt.work, &c->peer, on_done, shut_down, c);

	return r < 0 ? r : connection_pump(c);
}

int connection_pump_relay(struct connection *c)
{
	int r = relay_pump(c->relay, c->all->buf, clock_monotonic_ms());

	if (r > 0)
		connection_continue_later(c);
	return r;
}

/* Both ends of the relay are polled with the same connection. */
static int begin_relay(struct connection *c)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
				  .data.ptr = c };
	struct connections *f = c->all;
	int fd, r = relay_new(&c->relay, c->tls, &fd);

	if (r < 0)
		return r;
	if (epoll_ctl(f->epoll, EPOLL_CTL_ADD, relay_fd(c->relay), &ev) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	f->opt.other(f->opt.ctx, fd, &c->peer);
	return connection_pump_relay(c);
}

/* Requests a step of the handshake. */
static int continue_tls(struct connection *c)
{
	struct connections *f = c->all;
	int r = c->tls ? 0 : tls_session_new(&c->tls, f->opt.tls, c->fd);

	if (r < 0)
		return r;
	c->has_input = c->handshake.is_requested;
	c->handshake.tls = c->tls;
	if (!c->handshake.is_requested)
		handshakes_put(f->handshakes, &c->handshake, c, make_room_client(&c->peer));
	return 0;
}

/* The protocol is known when the handshake is complete, and so is the client's certificate. */
static int end_handshake(struct connection *c)
{
	c->peer.is_encrypted = true;
	if (!tls_subject(c->tls, c->peer.subject, sizeof(c->peer.subject)))
		c->peer.subject[0] = '\0';
	return tls_is_h2(c->tls) ? begin_h2(c) : begin_relay(c);
}

/*
 * Continues a connection after a step of its handshake. Input that arrived during the step may not
 * have been read by it.
 */
static int after_step(struct connection *c)
{
	int r = c->is_over ? -EPIPE : c->handshake.result;

	if (r == -EAGAIN)
		return c->has_input ? continue_tls(c) : 0;
	return r < 0 ? r : end_handshake(c);
}

void connections_take_steps(struct connections *f)
{
	struct connection *c;

	while (f->handshakes && (c = handshakes_take(f->handshakes)))
		if (after_step(c) < 0)
			connection_drop(c);
}

/* Peeks at the first bytes until they show the protocol. */
static void sniff(struct connection *c)
{
	ssize_t n = recv(c->fd, c->all->buf, CONNECTION_READ_LEN, MSG_PEEK);
	int r;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		connection_drop(c);
		return;
	}
	r = is_h2(c->all, (size_t)n);
	if (r == 0)
		hand_on(c);
	else if (r > 0 && begin_h2(c) < 0)
		connection_drop(c);
}

void connection_identify(struct connection *c)
{
	if (!c->all->opt.tls)
		sniff(c);
	else if (continue_tls(c) < 0)
		connection_drop(c);
}

void connection_end(struct connection *c)
{
	h2_session_end(c->h2);
	c->left = TURN_BYTES;
	flush_out(c);
}

struct http_request *connections_take_done(struct connections *f)
{
	struct http_request *rq;
	uint64_t n;

	while (read(f->wake, &n, sizeof(n)) < 0 && errno == EINTR)
		;
	pthread_mutex_lock(&f->lock);
	rq = f->done;
	f->done = NULL;
	pthread_mutex_unlock(&f->lock);
	return rq;
}

void connections_close(struct connections *f)
{
	handshakes_close(f->handshakes);
	while (f->first) {
		if (f->first->h2)
			h2_session_abandon(f->first->h2);
		closep(&f->first->fd);
		unlink_connection(f->first);
	}
	connections_bury(f);
	closep(&f->epoll);
	closep(&f->wake);
	pthread_mutex_destroy(&f->lock);
}

int connections_open(struct connections *f, const struct front_options *opt, struct err *err)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int r;

	f->opt = *opt;
	turns_init(&f->more);
	pthread_mutex_init(&f->lock, NULL);
	f->epoll = epoll_create1(EPOLL_CLOEXEC);
	f->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->epoll < 0 || f->wake < 0 || epoll_ctl(f->epoll, EPOLL_CTL_ADD, f->wake, &ev) < 0)
		return err_set(err, -errno, "cannot set up epoll: %s", strerror(errno));
	r = opt->tls ? handshakes_open(&f->handshakes, connections_wake, f) : 0;
	return r < 0 ? err_set(err, r, "cannot start the TLS handshake thread: %s", strerror(-r))
		     : 0;
}
