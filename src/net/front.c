/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread with one edge-triggered epoll descriptor. A new connection is inspected until its
 * protocol is known, by its first bytes or by TLS; then it becomes an HTTP/2 session or is passed
 * to the other server, with TLS through a relay. Workers append finished requests to a list and
 * wake the thread. A session outlives its socket while workers still process its requests.
 *
 * A handshake costs milliseconds of computing and a client next to nothing, so another thread does
 * them (handshakes.h). Until it has finished a step, the connection is not closed but only shut
 * down.
 *
 * A client that transfers nothing for too long is disconnected: after idle_seconds while it is new
 * or has an open request, and much later between requests, because agents keep their connections
 * for the next window. So is one that transfers too slowly (deadline.h).
 *
 * Edge-triggered events need no change of interest sets: each event leads to reading and writing
 * until the kernel reports EAGAIN, or until the connection has moved TURN_BYTES. Then it waits in a
 * list for its next turn, so that clients which send without a pause delay others by one turn each
 * and not for as long as they like. While a client does not accept responses nothing is read from
 * it, so a client that never reads costs one response in memory and the kernel's buffers. At the
 * limit, idle connections are closed for new ones (make_room.h).
 */
#include "net/front.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "net/h2_session.h"
#include "net/handshakes.h"
#include "net/http_work.h"
#include "net/listen_socket.h"
#include "net/relay.h"
#include "net/tls.h"
#include "net/turns.h"

enum {
	MAX_EVENTS = 64,
	MAX_ACCEPTS = 64, /* in a turn */
	READ_LEN = 64 * 1024,
	TURN_BYTES = 64 * 1024, /* that a connection reads and sends in a turn */
	SWEEP_MS = 1000,
	LAST_TURNS_MS = 1000, /* that a connection is served when the front is closed */
	IDLE_FACTOR = 10,     /* idle_seconds are multiplied by this between requests */
};

/* fd is -1 for a connection whose socket is closed while workers still have its requests. */
struct connection {
	struct front *front;
	int fd;
	bool is_listener;
	struct h2_session *h2;   /* HTTP/2 */
	struct relay *relay;     /* HTTP/1 over TLS; without both the protocol is not known yet */
	struct tls_session *tls; /* NULL: not encrypted */
	struct http_peer peer;
	const uint8_t *out; /* unsent bytes, borrowed from the session */
	size_t out_len;
	int64_t moved_ms; /* time of the last transfer in either direction */
	size_t held;      /* its part of front.held */
	size_t left;      /* bytes that may be moved in this turn */
	struct turn turn; /* in front.more */
	struct handshake handshake;
	bool has_input; /* it arrived during a step of the handshake */
	bool is_over;   /* to be closed after that step */
	struct connection *prev, *next;
};

struct front {
	struct front_options opt;
	int epoll, wake;
	struct connection *connections; /* and listeners */
	struct connection *dead;        /* freed at the end of the turn */
	struct turns more;              /* connections to continue in the next turn */
	struct handshakes *handshakes;  /* NULL: no TLS */
	bool is_deaf;                   /* listeners are not polled: accept() failed */
	unsigned int n_connections;
	size_t held; /* memory of the requests of all sessions, see h2_session_held() */
	size_t room; /* connections to accept before idle ones are closed again */
	pthread_mutex_t lock;
	struct http_request *done;
	atomic_bool quiet, stop;
	bool started;
	pthread_t thread;
	uint8_t buf[READ_LEN];
};

static void wake(void *ctx)
{
	const struct front *f = ctx;
	const uint64_t one = 1;

	while (write(f->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* @fd becomes the connection's on success only. */
static int add_connection(struct front *f, int fd, bool is_listener, struct connection **out)
{
	struct connection *c = calloc(1, sizeof(*c));
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET };

	if (!c)
		return -ENOMEM;
	*c = (struct connection){
		.front = f, .fd = fd, .is_listener = is_listener, .moved_ms = clock_monotonic_ms()
	};
	if (is_listener)
		ev.events = EPOLLIN;
	ev.data.ptr = c;
	if (epoll_ctl(f->epoll, EPOLL_CTL_ADD, fd, &ev) < 0) {
		free(c);
		return -errno;
	}
	c->next = f->connections;
	if (c->next)
		c->next->prev = c;
	f->connections = c;
	f->n_connections += !is_listener;
	*out = c;
	return 0;
}

/* Lets the others have their turn first. */
static void continue_later(struct connection *c)
{
	turns_add(&c->front->more, &c->turn, c, make_room_client(&c->peer));
}

/* False at the end of a turn. */
static bool may_move(struct connection *c)
{
	if (!c->left)
		continue_later(c);
	return c->left > 0;
}

static void moved(struct connection *c, size_t n)
{
	c->left -= n < c->left ? n : c->left;
	c->moved_ms = clock_monotonic_ms();
}

static void unlink_connection(struct connection *c)
{
	struct front *f = c->front;

	if (c->prev)
		c->prev->next = c->next;
	else
		f->connections = c->next;
	if (c->next)
		c->next->prev = c->prev;
	f->n_connections -= !c->is_listener;
	turns_remove(&c->turn);
	c->next = f->dead;
	f->dead = c;
}

/* Events of a turn may refer to a connection twice, so it is freed when all are handled. */
static void bury(struct front *f)
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

/* Counts the memory of a session's requests. */
static void count_held(struct connection *c)
{
	const size_t now = c->h2 ? h2_session_held(c->h2) : 0;

	c->front->held += now - c->held;
	c->held = now;
}

/* Frees a connection, or marks it to be freed when its workers have finished. */
static void drop(struct connection *c)
{
	if (c->handshake.is_requested && !handshakes_cancel(c->front->handshakes, &c->handshake)) {
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
	count_held(c);
	if (!c->h2 || !h2_session_working(c->h2))
		unlink_connection(c);
}

/* The bytes were only peeked at, so the other server reads them again. */
static void hand_on(struct connection *c)
{
	struct front *f = c->front;
	const struct http_peer peer = c->peer;
	int fd = c->fd;

	epoll_ctl(f->epoll, EPOLL_CTL_DEL, fd, NULL);
	c->fd = -1;
	unlink_connection(c);
	f->opt.other(f->opt.ctx, fd, &peer);
}

/* The outbox of the session leaves in drop(), before the socket is closed. */
static void shut_down(void *ctx)
{
	shutdown(((struct connection *)ctx)->fd, SHUT_RDWR);
}

/* Called by a worker. */
static void on_done(void *ctx, struct http_request *rq)
{
	struct front *f = ((struct connection *)ctx)->front;

	pthread_mutex_lock(&f->lock);
	rq->next = f->done;
	f->done = rq;
	pthread_mutex_unlock(&f->lock);
	wake(f);
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

static struct connection *largest(struct front *f)
{
	struct connection *found = NULL;

	for (struct connection *c = f->connections; c; c = c->next)
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
	struct front *f = c->front;
	struct connection *most;

	count_held(c);
	while (f->opt.max_headers && f->held > f->opt.max_headers && (most = largest(f))) {
		if (most == c)
			return -ENOBUFS;
		drop(most);
	}
	return 0;
}

/*
 * Reads only while the client accepts responses, so that its unsent data stays bounded, and while
 * it is known who the client is. respond_all() reads on.
 */
static int pump(struct connection *c)
{
	int r;

	c->left = TURN_BYTES;
	r = flush_out(c);
	while (r == 0 && !c->out_len && !h2_session_is_paused(c->h2) && may_move(c)) {
		ssize_t n = c->tls ? tls_recv(c->tls, c->front->buf, READ_LEN)
				   : recv(c->fd, c->front->buf, READ_LEN, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		if (n == 0)
			return -EPIPE;
		moved(c, (size_t)n);
		r = h2_session_feed(c->h2, c->front->buf, (size_t)n);
		if (r == 0)
			r = limit_held(c);
		if (r == 0)
			r = flush_out(c);
	}
	return r;
}

/* Does the connection start with the HTTP/2 preface? 1, 0, or -EAGAIN if bytes are missing. */
static int is_h2(const struct front *f, size_t len)
{
	static const char preface[] = "PRI * HTTP/2.0";
	size_t n = len < sizeof(preface) - 1 ? len : sizeof(preface) - 1;

	if (memcmp(f->buf, preface, n) != 0)
		return 0;
	return n < sizeof(preface) - 1 ? -EAGAIN : 1;
}

static int begin_h2(struct connection *c)
{
	struct front *f = c->front;
	int r = h2_session_new(&c->h2, f->opt.work, &c->peer, on_done, shut_down, c);

	return r < 0 ? r : pump(c);
}

static int pump_relay(struct connection *c)
{
	int r = relay_pump(c->relay, c->front->buf, clock_monotonic_ms());

	if (r > 0)
		continue_later(c);
	return r;
}

/* Both ends of the relay are polled with the same connection. */
static int begin_relay(struct connection *c)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
				  .data.ptr = c };
	struct front *f = c->front;
	int fd, r = relay_new(&c->relay, c->tls, &fd);

	if (r < 0)
		return r;
	if (epoll_ctl(f->epoll, EPOLL_CTL_ADD, relay_fd(c->relay), &ev) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	f->opt.other(f->opt.ctx, fd, &c->peer);
	return pump_relay(c);
}

/* Requests a step of the handshake. */
static int continue_tls(struct connection *c)
{
	struct front *f = c->front;
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

/* After a step. Input that arrived during it may have come too late for it. */
static int after_step(struct connection *c)
{
	int r = c->is_over ? -EPIPE : c->handshake.result;

	if (r == -EAGAIN)
		return c->has_input ? continue_tls(c) : 0;
	return r < 0 ? r : end_handshake(c);
}

static void take_steps(struct front *f)
{
	struct connection *c;

	while (f->handshakes && (c = handshakes_take(f->handshakes)))
		if (after_step(c) < 0)
			drop(c);
}

/* Peeks, until enough bytes have arrived. */
static void sniff(struct connection *c)
{
	ssize_t n = recv(c->fd, c->front->buf, READ_LEN, MSG_PEEK);
	int r;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop(c);
		return;
	}
	r = is_h2(c->front, (size_t)n);
	if (r == 0)
		hand_on(c);
	else if (r > 0 && begin_h2(c) < 0)
		drop(c);
}

static void identify(struct connection *c)
{
	if (!c->front->opt.tls)
		sniff(c);
	else if (continue_tls(c) < 0)
		drop(c);
}

/*
 * Without free descriptors or memory, accept() fails at once while the listeners stay readable, so
 * they are not polled until the next sweep.
 */
static void listen_again(struct front *f, bool listen)
{
	f->is_deaf = !listen;
	for (struct connection *c = f->connections; c; c = c->next) {
		struct epoll_event ev = { .events = listen ? EPOLLIN : 0, .data.ptr = c };

		if (c->is_listener)
			epoll_ctl(f->epoll, EPOLL_CTL_MOD, c->fd, &ev);
	}
}

static bool is_transient(int error)
{
	return error == EAGAIN || error == EINTR || error == ECONNABORTED;
}

/* A new connection of which nothing is known, or an HTTP/2 session without a working request. */
static void each_idle(void *ctx, make_room_fn fn, void *fn_ctx)
{
	struct connection *next;
	struct front *f = ctx;

	for (struct connection *c = f->connections; c; c = next) {
		next = c->next;
		if (c->is_listener || c->fd < 0 || c->relay || c->is_over ||
		    (c->h2 && (h2_session_working(c->h2) || c->out_len)))
			continue;
		if (fn(fn_ctx,
		       &(struct idle_connection){ c->h2 && h2_session_has_asked(c->h2),
						  make_room_client(&c->peer), c->moved_ms }))
			drop(c);
	}
	f->opt.each_idle(f->opt.ctx, fn, fn_ctx);
}

/*
 * Closes idle connections if @fd, a new one, needs it. Others are closed by their threads later, so
 * as many are accepted before the next time. Returns false if there is no room, or their threads
 * are late.
 */
static bool has_room(struct front *f, int fd)
{
	size_t n_closing, n = f->n_connections + f->opt.n_others(f->opt.ctx, &n_closing);

	if (!make_room_is_needed(n, f->opt.max_connections, fd))
		return true;
	if (n_closing >= f->opt.max_connections)
		return false;
	if (!f->room)
		f->room = make_room(each_idle, f);
	return f->room && f->room--;
}

/*
 * Closes connections if accept() failed for lack of descriptors or memory. It reserves a descriptor
 * before it looks for a connection (Linux), so it also fails if nobody waits; then nothing is
 * closed.
 */
static void end_accepting(struct connection *listener, int error)
{
	struct pollfd waiting = { .fd = listener->fd, .events = POLLIN };

	if (is_transient(error) || poll(&waiting, 1, 0) != 1)
		return;
	make_room(each_idle, listener->front);
	listen_again(listener->front, false);
}

/*
 * Listeners are level-triggered, so further connections are accepted in the next turn. TCP_NODELAY:
 * responses are written whole, so Nagle's algorithm could only delay them.
 */
static void accept_all(struct connection *listener)
{
	struct front *f = listener->front;
	const int on = 1;

	for (int i = 0; i < MAX_ACCEPTS; i++) {
		struct http_peer peer = { .addr_len = sizeof(peer.addr) };
		int fd = accept4(listener->fd, (struct sockaddr *)&peer.addr, &peer.addr_len,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct connection *c = NULL;

		if (fd < 0) {
			end_accepting(listener, errno);
			return;
		}
		if (!has_room(f, fd)) {
			close(fd);
			continue;
		}
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		if (add_connection(f, fd, false, &c) < 0) {
			close(fd);
			return;
		}
		c->peer = peer;
		identify(c);
	}
}

static void on_event(struct connection *c)
{
	if (c->is_listener) {
		if (!atomic_load(&c->front->quiet))
			accept_all(c);
		return;
	}
	if (c->fd < 0 || c->is_over)
		return;
	if (c->relay ? pump_relay(c) < 0 : c->h2 && (pump(c) < 0 || h2_session_ended(c->h2)))
		drop(c);
	else if (!c->relay && !c->h2)
		identify(c);
}

/* Requests may belong to connections that were closed meanwhile; the last one of these frees it. */
static void respond_all(struct front *f)
{
	struct http_request *rq, *next;
	uint64_t n;

	while (read(f->wake, &n, sizeof(n)) < 0 && errno == EINTR)
		;
	take_steps(f);
	pthread_mutex_lock(&f->lock);
	rq = f->done;
	f->done = NULL;
	pthread_mutex_unlock(&f->lock);
	for (; rq; rq = next) {
		struct connection *c = h2_session_ctx(rq);

		next = rq->next;
		h2_session_respond(rq);
		count_held(c);
		if (c->fd < 0 || pump(c) < 0 || h2_session_ended(c->h2))
			drop(c);
	}
}

/*
 * A session gets GOAWAY before it is closed, so that its client opens a new connection for the next
 * request.
 */
static void sweep(struct front *f, int64_t now_ms)
{
	int64_t limit = (int64_t)f->opt.idle_seconds * 1000;
	struct connection *next;

	for (struct connection *c = f->connections; c; c = next) {
		bool between = c->h2 && !h2_session_open(c->h2) && !c->out_len;
		int64_t idle = now_ms - c->moved_ms;

		next = c->next;
		if (c->is_listener || c->fd < 0 || c->is_over)
			continue;
		if (c->relay) {
			if (relay_is_late(c->relay, f->opt.idle_seconds, now_ms))
				drop(c);
			continue;
		}
		if (c->h2 && h2_session_is_late(c->h2, f->opt.idle_seconds, now_ms)) {
			drop(c);
			continue;
		}
		if ((c->h2 && h2_session_working(c->h2)) ||
		    idle < (between ? limit * IDLE_FACTOR : limit))
			continue;
		if (c->h2) {
			h2_session_end(c->h2);
			c->left = TURN_BYTES;
			flush_out(c);
		}
		drop(c);
	}
}

/* As many as events are handled at a time, so neither delays the other. */
static void continue_some(struct front *f)
{
	struct connection *c;

	for (int i = 0; i < MAX_EVENTS && (c = turns_take(&f->more)); i++)
		on_event(c);
}

/* At the end: sends what clients accept now. */
static void finish_sending(struct front *f)
{
	int64_t until_ms = clock_monotonic_ms() + LAST_TURNS_MS;

	for (struct connection *c = f->connections; c; c = c->next)
		if (c->fd >= 0 && (c->relay || c->h2))
			continue_later(c);
	while (!turns_is_empty(&f->more) && clock_monotonic_ms() < until_ms)
		continue_some(f);
}

static void *front_main(void *arg)
{
	struct epoll_event events[MAX_EVENTS];
	struct front *f = arg;
	int64_t swept = clock_monotonic_ms();

	while (!atomic_load(&f->stop)) {
		int n = epoll_wait(f->epoll, events, MAX_EVENTS,
				   turns_is_empty(&f->more) ? SWEEP_MS : 0);
		bool done = false;

		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr)
				on_event(events[i].data.ptr);
			else
				done = true;
		}
		if (done)
			respond_all(f);
		continue_some(f);
		if (clock_monotonic_ms() - swept >= SWEEP_MS) {
			swept = clock_monotonic_ms();
			sweep(f, swept);
			f->opt.sweep(f->opt.ctx, swept);
			if (f->is_deaf)
				listen_again(f, true);
		}
		bury(f);
	}
	respond_all(f);
	finish_sending(f);
	return NULL;
}

int front_listen(struct front *f, const char *host, uint16_t port, uint16_t *out_port,
		 struct err *err)
{
	struct connection *c;
	int fd = listen_socket(host, port, out_port, err);
	int r = fd < 0 ? fd : add_connection(f, fd, true, &c);

	if (r < 0)
		closep(&fd);
	return r;
}

int front_start(struct front *f, struct err *err)
{
	int r = pthread_create(&f->thread, NULL, front_main, f);

	if (r)
		return err_set(err, -r, "cannot start the listener thread: %s", strerror(r));
	f->started = true;
	return 0;
}

void front_quiesce(struct front *f)
{
	atomic_store(&f->quiet, true);
}

void front_close(struct front *f)
{
	if (!f)
		return;
	atomic_store(&f->stop, true);
	if (f->started) {
		wake(f);
		pthread_join(f->thread, NULL);
	}
	handshakes_close(f->handshakes);
	while (f->connections) {
		if (f->connections->h2)
			h2_session_abandon(f->connections->h2);
		closep(&f->connections->fd);
		unlink_connection(f->connections);
	}
	bury(f);
	closep(&f->epoll);
	closep(&f->wake);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

int front_open(struct front **out, const struct front_options *opt, struct err *err)
{
	_cleanup_(front_closep) struct front *f = calloc(1, sizeof(*f));
	struct epoll_event ev = { .events = EPOLLIN };
	int r;

	if (!f)
		return -ENOMEM;
	f->opt = *opt;
	turns_init(&f->more);
	pthread_mutex_init(&f->lock, NULL);
	f->epoll = epoll_create1(EPOLL_CLOEXEC);
	f->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->epoll < 0 || f->wake < 0 || epoll_ctl(f->epoll, EPOLL_CTL_ADD, f->wake, &ev) < 0)
		return err_set(err, -errno, "cannot set up epoll: %s", strerror(errno));
	r = opt->tls ? handshakes_open(&f->handshakes, wake, f) : 0;
	if (r < 0)
		return err_set(err, r, "cannot start the thread of TLS: %s", strerror(-r));
	*out = steal_ptr(&f);
	return 0;
}
