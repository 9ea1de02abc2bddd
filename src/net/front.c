/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread with one edge-triggered epoll descriptor. A new connection is inspected until its
 * protocol is known, by its first bytes or by TLS; then it becomes an HTTP/2 session or is passed
 * to the other server, with TLS through a relay. Workers append finished requests to a list and
 * wake the thread. A session outlives its socket while workers still process its requests.
 *
 * A client that transfers nothing for too long is disconnected: after idle_seconds while it is new
 * or has an open request, and much later between requests, because agents keep their connections
 * for the next window. So is one that transfers too slowly (deadline.h).
 *
 * Edge-triggered events need no change of interest sets: each event leads to reading and writing
 * until the kernel reports EAGAIN, or until the end of a turn (connections.c). While a client does
 * not accept responses nothing is read from it, so a client that never reads costs one response in
 * memory and the kernel's buffers. At the limit, idle connections are closed for new ones
 * (make_room.h).
 */
#include "net/front.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/err.h"
#include "net/connections.h"
#include "net/h2_session.h"
#include "net/http_work.h"
#include "net/listen_socket.h"
#include "net/relay.h"

enum {
	MAX_EVENTS = 64,
	MAX_ACCEPTS = 64, /* in a turn */
	SWEEP_MS = 1000,
	DEAF_MS = 20,         /* time for which listeners are not polled after accept() failed */
	LAST_TURNS_MS = 1000, /* that connections are served when the front is closed */
	IDLE_FACTOR = 10,     /* idle_seconds are multiplied by this between requests */
};

struct front {
	struct connections all;
	bool is_deaf;          /* listeners are not polled: accept() failed */
	int64_t deaf_until_ms; /* CLOCK_MONOTONIC */
	size_t room;           /* connections to accept before idle ones are closed again */
	atomic_bool quiet, stop;
	bool started;
	pthread_t thread;
};

/*
 * Without free descriptors or memory, accept() fails at once while the listeners stay readable, so
 * they are not polled for DEAF_MS, in which other threads close connections.
 */
static void listen_again(struct front *f, bool listen)
{
	f->is_deaf = !listen;
	f->deaf_until_ms = clock_monotonic_ms() + DEAF_MS;
	for (struct connection *c = f->all.first; c; c = c->next) {
		struct epoll_event ev = { .events = listen ? EPOLLIN : 0, .data.ptr = c };

		if (c->is_listener)
			epoll_ctl(f->all.epoll, EPOLL_CTL_MOD, c->fd, &ev);
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

	for (struct connection *c = f->all.first; c; c = next) {
		next = c->next;
		if (c->is_listener || c->fd < 0 || c->relay || c->is_over ||
		    (c->h2 && (h2_session_working(c->h2) || c->out_len)))
			continue;
		if (fn(fn_ctx,
		       &(struct idle_connection){ c->h2 && h2_session_has_asked(c->h2),
						  make_room_client(&c->peer), c->moved_ms }))
			connection_drop(c);
	}
	f->all.opt.each_idle(f->all.opt.ctx, fn, fn_ctx);
}

/*
 * Makes room for the new connection @fd, in addition to the @n existing ones, by closing idle
 * connections if necessary. Their threads close them later; so as many connections are accepted
 * before idle ones are chosen again. Returns false if there is no room.
 */
static bool has_room(struct front *f, size_t n, int fd)
{
	if (!make_room_is_needed(n, f->all.opt.max_connections, fd))
		return true;
	if (!f->room)
		f->room = make_room(each_idle, f);
	return f->room && f->room--;
}

/*
 * Closes connections if accept() failed for lack of descriptors or memory. Linux reserves a
 * descriptor before it looks for a connection, so accept() also fails if no client waits; then
 * nothing is closed. Nothing is closed either while @n_closing descriptors are about to be closed.
 */
static void end_accepting(struct front *f, const struct connection *listener, size_t n_closing,
			  int error)
{
	struct pollfd waiting = { .fd = listener->fd, .events = POLLIN };

	if (is_transient(error) || poll(&waiting, 1, 0) != 1)
		return;
	if (!n_closing)
		make_room(each_idle, f);
	listen_again(f, false);
}

/*
 * Listeners are level-triggered, so further connections are accepted in the next turn. While the
 * threads that close connections are late, new ones wait in the kernel. TCP_NODELAY: responses are
 * written whole, so Nagle's algorithm could only delay them.
 */
static void accept_all(struct front *f, const struct connection *listener)
{
	const int on = 1;

	for (int i = 0; i < MAX_ACCEPTS; i++) {
		struct http_peer peer = { .addr_len = sizeof(peer.addr) };
		struct connection *c = NULL;
		size_t n_closing, n = f->all.n + f->all.opt.n_others(f->all.opt.ctx, &n_closing);
		int fd;

		if (n_closing >= f->all.opt.max_connections) {
			listen_again(f, false);
			return;
		}
		fd = accept4(listener->fd, (struct sockaddr *)&peer.addr, &peer.addr_len,
			     SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			end_accepting(f, listener, n_closing, errno);
			return;
		}
		if (!has_room(f, n, fd)) {
			close(fd);
			continue;
		}
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		if (connections_add(&f->all, fd, false, &c) < 0) {
			close(fd);
			return;
		}
		c->peer = peer;
		connection_identify(c);
	}
}

static void on_event(struct front *f, struct connection *c)
{
	if (c->is_listener) {
		if (!atomic_load(&f->quiet))
			accept_all(f, c);
		return;
	}
	if (c->fd < 0 || c->is_over)
		return;
	if (c->relay ? connection_pump_relay(c) < 0
		     : c->h2 && (connection_pump(c) < 0 || h2_session_ended(c->h2)))
		connection_drop(c);
	else if (!c->relay && !c->h2)
		connection_identify(c);
}

/*
 * Sends the responses that workers have finished. A connection that was closed meanwhile is freed
 * with the last of its requests.
 */
static void respond_all(struct front *f)
{
	struct http_request *next, *rq = connections_take_done(&f->all);

	connections_take_steps(&f->all);
	for (; rq; rq = next) {
		struct connection *c = h2_session_ctx(rq);

		next = rq->next;
		h2_session_respond(rq);
		connection_count_held(c);
		if (c->fd < 0 || connection_pump(c) < 0 || h2_session_ended(c->h2))
			connection_drop(c);
	}
}

/*
 * A session gets GOAWAY before it is closed, so that its client opens a new connection for the next
 * request.
 */
static void sweep(struct front *f, int64_t now_ms)
{
	int64_t limit = (int64_t)f->all.opt.idle_seconds * 1000;
	struct connection *next;

	for (struct connection *c = f->all.first; c; c = next) {
		bool between = c->h2 && !h2_session_open(c->h2) && !c->out_len;
		int64_t idle = now_ms - c->moved_ms;

		next = c->next;
		if (c->is_listener || c->fd < 0 || c->is_over)
			continue;
		if (c->relay) {
			if (relay_is_late(c->relay, f->all.opt.idle_seconds, now_ms))
				connection_drop(c);
			continue;
		}
		if (c->h2 && h2_session_is_late(c->h2, f->all.opt.idle_seconds, now_ms)) {
			connection_drop(c);
			continue;
		}
		if ((c->h2 && h2_session_working(c->h2)) ||
		    idle < (between ? limit * IDLE_FACTOR : limit))
			continue;
		if (c->h2)
			connection_end(c);
		connection_drop(c);
	}
}

/*
 * Continues at most as many connections as events are handled at a time, so that neither delays the
 * other.
 */
static void continue_some(struct front *f)
{
	struct connection *c;

	for (int i = 0; i < MAX_EVENTS && (c = turns_take(&f->all.more)); i++)
		on_event(f, c);
}

/* At the end: sends what clients accept now. */
static void finish_sending(struct front *f)
{
	int64_t until_ms = clock_monotonic_ms() + LAST_TURNS_MS;

	for (struct connection *c = f->all.first; c; c = c->next)
		if (c->fd >= 0 && (c->relay || c->h2))
			connection_continue_later(c);
	while (!turns_is_empty(&f->all.more) && clock_monotonic_ms() < until_ms)
		continue_some(f);
}

static int longest_wait_ms(const struct front *f)
{
	if (!turns_is_empty(&f->all.more))
		return 0;
	return f->is_deaf ? DEAF_MS : SWEEP_MS;
}

static void *front_main(void *arg)
{
	struct epoll_event events[MAX_EVENTS];
	struct front *f = arg;
	int64_t swept = clock_monotonic_ms();

	while (!atomic_load(&f->stop)) {
		int n = epoll_wait(f->all.epoll, events, MAX_EVENTS, longest_wait_ms(f));
		bool done = false;

		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr)
				on_event(f, events[i].data.ptr);
			else
				done = true;
		}
		if (done)
			respond_all(f);
		continue_some(f);
		if (clock_monotonic_ms() - swept >= SWEEP_MS) {
			swept = clock_monotonic_ms();
			sweep(f, swept);
			f->all.opt.sweep(f->all.opt.ctx, swept);
		}
		if (f->is_deaf && clock_monotonic_ms() >= f->deaf_until_ms)
			listen_again(f, true);
		connections_bury(&f->all);
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
	int r = fd < 0 ? fd : connections_add(&f->all, fd, true, &c);

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
		connections_wake(&f->all);
		pthread_join(f->thread, NULL);
	}
	connections_close(&f->all);
	free(f);
}

int front_open(struct front **out, const struct front_options *opt, struct err *err)
{
	_cleanup_(front_closep) struct front *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	r = connections_open(&f->all, opt, err);
	if (r < 0)
		return r;
	*out = steal_ptr(&f);
	return 0;
}
