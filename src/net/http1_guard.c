/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmicrohttpd closes connections that are idle, but a byte now and then keeps one alive, and it
 * does not report requests whose headers are incomplete. Each connection therefore has a record
 * here. A late one is shut down, not closed: libmicrohttpd sees the end of its input and cleans up.
 * It reports that a connection is closed before it closes the socket, so under the lock a
 * descriptor is never that of another connection.
 */
#include "net/http1_guard.h"

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include <microhttpd.h>

#include "base/clock.h"
#include "net/deadline.h"

enum phase {
	PHASE_WAIT, /* for the headers of the next request */
	PHASE_BODY,
	PHASE_WORK, /* the server has the request: no deadline */
	PHASE_RESPONSE,
};

enum { WAIT_FACTOR = 2 }; /* between requests, libmicrohttpd's own timeout comes first */

struct connection {
	int fd;
	uint32_t client; /* see make_room.h */
	bool has_asked, is_closing;
	enum phase phase;
	int64_t since_ms;
	uint64_t bytes;
	atomic_bool *abandoned; /* of the request in PHASE_WORK */
	struct connection *prev, *next;
};

struct http1_guard {
	unsigned int idle_seconds;
	pthread_mutex_t lock;
	struct connection *connections;
	struct http1_guard_count count;
};

/* ---- framing -------------------------------------------------------------------- */

struct seen {
	unsigned int lengths, encodings, hosts;
	const char *line_end; /* of the line before, in libmicrohttpd's buffer; NULL: not checked */
	const char *error;
};

/*
 * libmicrohttpd 0.9.75 takes a line feed alone, and a NUL, for the end of a line, and joins
 * continued lines. It leaves the lines where they arrived and replaces CRLF by two NULs, so a line
 * ended otherwise if the next one does not begin two bytes after it.
 */
static const char lenient_release[] = "0.9.75";

enum { LINE_END_BYTES = 2 };

static bool is_crlf(const char *line_end)
{
	return !line_end[0] && !line_end[1];
}

static bool is_number(const char *s)
{
	size_t n = s ? strspn(s, "0123456789") : 0;

	return n > 0 && n < 20 && !s[n];
}

/* Characters that other parsers may take for the end of a name, of a value or of a line. */
static bool is_clean(const char *s, size_t len, bool is_name)
{
	for (size_t i = 0; i < len; i++)
		if ((uint8_t)s[i] < ' ' ? is_name || s[i] != '\t'
					: s[i] == 0x7f || (is_name && (s[i] == ' ' || s[i] < 0)))
			return false;
	return true;
}

static enum MHD_Result see(void *ctx, enum MHD_ValueKind kind, const char *name, size_t name_len,
			   const char *value, size_t value_len)
{
	struct seen *seen = ctx;

	if (seen->line_end &&
	    (!is_crlf(seen->line_end) || name != seen->line_end + LINE_END_BYTES || !value))
		seen->error = "a line must end with CRLF, and cannot continue the one before";
	if (seen->line_end)
		seen->line_end = value ? value + value_len : NULL;
	if (!name_len || !is_clean(name, name_len, true) || !is_clean(value, value_len, false))
		seen->error = "a header has characters that are not allowed";
	if (!strcasecmp(name, "Host"))
		seen->hosts++;
	if (!strcasecmp(name, "Transfer-Encoding")) {
		seen->encodings++;
		if (!value || strcasecmp(value, "chunked") != 0)
			seen->error = "Transfer-Encoding must be chunked";
	}
	if (!strcasecmp(name, "Content-Length")) {
		seen->lengths++;
		if (!is_number(value))
			seen->error = "Content-Length is not a number";
	}
	return MHD_YES;
}

const char *http1_framing_error(struct MHD_Connection *c, const char *version)
{
	struct seen seen = { 0 };

	if (*version && !strcmp(MHD_get_version(), lenient_release))
		seen.line_end = version + strlen(version);
	MHD_get_connection_values_n(c, MHD_HEADER_KIND, see, &seen);
	if (!seen.error && seen.line_end &&
	    (!is_crlf(seen.line_end) || !is_crlf(seen.line_end + LINE_END_BYTES)))
		seen.error = "a line must end with CRLF";
	if (seen.error)
		return seen.error;
	if (seen.lengths > 1)
		return "Content-Length is given more than once";
	if (seen.lengths && seen.encodings)
		return "Content-Length and Transfer-Encoding cannot be used together";
	if (seen.encodings && !strcmp(version, "HTTP/1.0"))
		return "Transfer-Encoding requires HTTP/1.1";
	if (seen.encodings > 1)
		return "Transfer-Encoding is given more than once";
	if (seen.hosts > 1)
		return "Host is given more than once";
	if (!seen.hosts && !strcmp(version, "HTTP/1.1"))
		return "Host is missing";
	return NULL;
}

/* ---- deadlines ------------------------------------------------------------------ */

struct http1_guard *http1_guard_new(unsigned int idle_seconds)
{
	struct http1_guard *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->idle_seconds = idle_seconds;
	pthread_mutex_init(&g->lock, NULL);
	return g;
}

void http1_guard_free(struct http1_guard *g)
{
	if (!g)
		return;
	while (g->connections) {
		struct connection *next = g->connections->next;

		free(g->connections);
		g->connections = next;
	}
	pthread_mutex_destroy(&g->lock);
	free(g);
}

/* Without memory for a record the connection has libmicrohttpd's own timeout only. */
void http1_guard_opened(struct http1_guard *g, struct MHD_Connection *c,
			const struct http_peer *peer, void **own)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct connection *n = calloc(1, sizeof(*n));

	*own = n;
	pthread_mutex_lock(&g->lock);
	g->count.expected -= g->count.expected > 0;
	if (n) {
		*n = (struct connection){ .fd = info ? info->connect_fd : -1,
					  .client = make_room_client(peer),
					  .since_ms = clock_monotonic_ms(),
					  .next = g->connections };
		if (n->next)
			n->next->prev = n;
		g->connections = n;
		g->count.open++;
	}
	pthread_mutex_unlock(&g->lock);
}

void http1_guard_closed(struct http1_guard *g, void **own)
{
	struct connection *n = *own;

	*own = NULL;
	if (!n)
		return;
	pthread_mutex_lock(&g->lock);
	if (n->prev)
		n->prev->next = n->next;
	else
		g->connections = n->next;
	if (n->next)
		n->next->prev = n->prev;
	if (n->is_closing)
		g->count.closing--;
	else
		g->count.open--;
	pthread_mutex_unlock(&g->lock);
	free(n);
}

/* A phase that continues keeps its beginning. */
static void enter(struct http1_guard *g, struct MHD_Connection *c, enum phase phase, uint64_t bytes,
		  atomic_bool *abandoned)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct connection *n = info ? info->socket_context : NULL;

	if (!n)
		return;
	pthread_mutex_lock(&g->lock);
	if (n->phase != phase)
		n->since_ms = clock_monotonic_ms();
	n->phase = phase;
	n->has_asked |= n->phase == PHASE_RESPONSE;
	n->bytes = bytes;
	n->abandoned = abandoned;
	pthread_mutex_unlock(&g->lock);
}

void http1_guard_body(struct http1_guard *g, struct MHD_Connection *c, size_t received)
{
	enter(g, c, PHASE_BODY, received, NULL);
}

void http1_guard_work(struct http1_guard *g, struct MHD_Connection *c, atomic_bool *abandoned)
{
	enter(g, c, PHASE_WORK, 0, abandoned);
}

void http1_guard_response(struct http1_guard *g, struct MHD_Connection *c, size_t bytes)
{
	enter(g, c, PHASE_RESPONSE, bytes, NULL);
}

void http1_guard_over(struct http1_guard *g, struct MHD_Connection *c)
{
	enter(g, c, PHASE_WAIT, 0, NULL);
}

static bool is_late(const struct http1_guard *g, const struct connection *n, int64_t now_ms)
{
	unsigned int idle = g->idle_seconds * (n->phase == PHASE_WAIT ? WAIT_FACTOR : 1);

	return n->phase != PHASE_WORK && deadline_is_over(n->since_ms, n->bytes, idle, now_ms);
}

/*
 * A suspended connection is not polled by libmicrohttpd. POLLRDHUP is reported whatever input
 * waits before the end, as a TLS client's last message does. A client that closes only its sending
 * direction is treated as gone, which ends its query.
 */
static void notice_end(const struct connection *n)
{
	struct pollfd p = { .fd = n->fd, .events = POLLRDHUP };

	if (poll(&p, 1, 0) > 0 && p.revents & (POLLRDHUP | POLLHUP | POLLERR))
		atomic_store(n->abandoned, true);
}

void http1_guard_sweep(struct http1_guard *g, int64_t now_ms)
{
	pthread_mutex_lock(&g->lock);
	for (struct connection *n = g->connections; n; n = n->next)
		if (n->fd >= 0 && n->phase == PHASE_WORK)
			notice_end(n);
		else if (n->fd >= 0 && is_late(g, n, now_ms))
			shutdown(n->fd, SHUT_RDWR);
	pthread_mutex_unlock(&g->lock);
}

void http1_guard_each_idle(struct http1_guard *g, make_room_fn fn, void *ctx)
{
	pthread_mutex_lock(&g->lock);
	for (struct connection *n = g->connections; n; n = n->next) {
		bool is_waiting = n->phase == PHASE_WAIT;
		const struct idle_connection idle = { is_waiting && n->has_asked, n->client,
						      n->since_ms };

		if (n->fd < 0 || n->is_closing || (!is_waiting && n->phase != PHASE_BODY))
			continue;
		n->is_closing = fn(ctx, &idle);
		if (!n->is_closing)
			continue;
		shutdown(n->fd, SHUT_RDWR);
		g->count.open--;
		g->count.closing++;
	}
	pthread_mutex_unlock(&g->lock);
}

void http1_guard_expect(struct http1_guard *g)
{
	pthread_mutex_lock(&g->lock);
	g->count.expected++;
	pthread_mutex_unlock(&g->lock);
}

struct http1_guard_count http1_guard_count(struct http1_guard *g)
{
	struct http1_guard_count count;

	pthread_mutex_lock(&g->lock);
	count = g->count;
	pthread_mutex_unlock(&g->lock);
	return count;
}
