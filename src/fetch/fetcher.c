/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body comes in parts rather than in a file that both processes can write, so that bytes cannot
 * change after they were received and checked.
 */
#include "fetch/fetcher.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "fetch/fetch_message.h"
#include "roles/pool.h"

enum {
	MEMORY = 64 << 20,
	ABANDONED_MAX = 4,
	OVERHEAD_MS = 2000, /* of the process, besides the time of the request */
	POLL_MS = 250,      /* between two looks at whether the call was cancelled */
};

struct fetcher {
	pthread_mutex_t lock; /* of @pool */
	struct role_pool *pool;
	const struct role *role;
	struct role_launcher *launcher;
};

int fetcher_new(struct fetcher **out, const struct role *role, struct role_launcher *launcher)
{
	struct fetcher *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	pthread_mutex_init(&f->lock, NULL);
	f->role = role;
	f->launcher = launcher;
	*out = f;
	return 0;
}

int fetcher_new_like(struct fetcher **out, const struct fetcher *other)
{
	return fetcher_new(out, other->role, other->launcher);
}

void fetcher_free(struct fetcher *f)
{
	if (!f)
		return;
	role_pool_free(f->pool);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* The pool is made with the first request, because most runs download nothing. */
static int start(struct fetcher *f, struct err *err)
{
	const struct role_pool_opts opts = {
		.max_children = 1,
		.max_abandoned = ABANDONED_MAX,
		.memory_bytes = MEMORY,
		.launcher = f->launcher,
	};
	int r;

	pthread_mutex_lock(&f->lock);
	r = f->pool ? 0 : role_pool_new(&f->pool, f->role, &opts, err);
	pthread_mutex_unlock(&f->lock);
	return r;
}

/* One request while it runs. */
struct transfer {
	const struct fetch *q;
	uint64_t left;
};

/* The limit is enforced here as well, because the process that downloads is not trusted. */
static int on_part(void *ctx, uint32_t kind, const void *data, size_t len)
{
	struct transfer *t = ctx;

	if (kind != FETCH_BODY)
		return -EBADMSG;
	if (len > t->left)
		return -EFBIG;
	t->left -= len;
	return t->q->body(t->q->ctx, data, len);
}

static int encode(const struct fetch *q, struct buf *out)
{
	const struct fetch_request fixed = {
		.max_bytes = q->max_bytes,
		.timeout_ms = q->timeout_ms,
		.flags = (q->insecure ? FETCH_INSECURE : 0) |
			 (q->any_redirect ? FETCH_ANY_REDIRECT : 0),
		.files = q->ca_fd >= 0 ? 1u << FETCH_CA : 0,
	};

	buf_put(out, &fixed, sizeof(fixed));
	buf_put(out, q->url, strlen(q->url) + 1);
	for (size_t i = 0; i < q->n_headers; i++)
		buf_put(out, q->headers[i], strlen(q->headers[i]) + 1);
	return buf_error(out);
}

/* Returns the same values as fetcher_get(). */
static int take_reply(struct role_exchange *x, struct err *err)
{
	const struct role_reply *r = role_exchange_reply(x);
	const struct fetch_reply *reply = fetch_check_reply(r->data, r->len, r->result);

	if (!reply) {
		role_exchange_reject(x);
		return -EBADMSG;
	}
	return r->result < 0 ? err_set(err, r->result, "%s", reply->why) : reply->status;
}

int fetcher_get(struct fetcher *f, const struct fetch *q, struct err *err)
{
	_cleanup_(buf_fini) struct buf request = { 0 };
	_cleanup_(role_exchange_endp) struct role_exchange *x = NULL;
	struct transfer t = { .q = q, .left = q->max_bytes };
	struct role_request rq = {
		.kind = FETCH_GET,
		.fds = &q->ca_fd,
		.n_fds = q->ca_fd >= 0,
		.timeout_ms = q->timeout_ms + OVERHEAD_MS,
		.part = on_part,
		.ctx = &t,
	};
	int r = encode(q, &request);

	rq.data = request.data;
	rq.len = request.len;
	if (r == 0)
		r = start(f, err);
	if (r == 0)
		r = role_pool_call(f->pool, &rq, &x);
	if (r == 0)
		r = take_reply(x, err);
	return r < 0 ? err_set(err, r, "%s", strerror(-r)) : r;
}

/* ---- many URLs ---------------------------------------------------------------------------- */

/* The process is not trusted: a URL ends once, and its body has a limit here too. */
struct batch {
	const struct fetch_all *q;
	struct role_exchange *exchange; /* NULL: it has ended, or never began */
	uint64_t left[FETCH_ALL_MAX];
	bool has_ended[FETCH_ALL_MAX];
};

static int on_piece(struct batch *b, const void *data, size_t len)
{
	const struct fetch_piece *p = fetch_check_piece(data, len, b->q->n);

	if (!p || b->has_ended[p->index])
		return -EBADMSG;
	len -= sizeof(*p);
	if (len > b->left[p->index])
		return -EBADMSG;
	b->left[p->index] -= len;
	b->q->body(b->q->ctx, p->index, p->data, len);
	return 0;
}

static int on_end(struct batch *b, const void *data, size_t len)
{
	const struct fetch_end *e = fetch_check_end(data, len, b->q->n);

	if (!e || b->has_ended[e->index])
		return -EBADMSG;
	b->has_ended[e->index] = true;
	b->q->end(b->q->ctx, e->index, e->result < 0 ? e->result : e->reply.status, e->reply.why);
	return 0;
}

static int on_batch_part(void *ctx, uint32_t kind, const void *data, size_t len)
{
	return kind == FETCH_BODY  ? on_piece(ctx, data, len)
	       : kind == FETCH_END ? on_end(ctx, data, len)
				   : -EBADMSG;
}

static void put_texts(struct buf *out, const char *const *texts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_put(out, texts[i], strlen(texts[i]) + 1);
}

static int encode_all(const struct fetch_all *q, uint32_t files, struct buf *out)
{
	const struct fetch_all_request fixed = {
		.max_bytes = q->max_bytes,
		.timeout_ms = q->timeout_ms,
		.n = (uint32_t)q->n,
		.n_headers = (uint32_t)q->n_headers,
		.files = files,
	};

	buf_put(out, &fixed, sizeof(fixed));
	put_texts(out, q->headers, q->n_headers);
	put_texts(out, q->urls, q->n);
	return buf_error(out);
}

/* Ends the URLs that the process did not end because it died or could not be started. */
static void batch_end(struct batch *b, int r, const char *why)
{
	role_exchange_end(b->exchange);
	b->exchange = NULL;
	for (size_t i = 0; i < b->q->n; i++)
		if (!b->has_ended[i])
			b->q->end(b->q->ctx, i, r, why);
}

static int batch_send(struct batch *b, struct err *err)
{
	_cleanup_(buf_fini) struct buf request = { 0 };
	const struct fetch_all *q = b->q;
	int fds[FETCH_FILES];
	struct role_request rq = {
		.kind = FETCH_GET_ALL,
		.fds = fds,
		.timeout_ms = q->timeout_ms + OVERHEAD_MS,
		.part = on_batch_part,
		.ctx = b,
	};
	int r = encode_all(q, fetch_files_list(q->files, fds, &rq.n_fds), &request);

	rq.data = request.data;
	rq.len = request.len;
	if (r == 0)
		r = start(q->fetcher, err);
	if (r == 0)
		r = role_pool_start(q->fetcher->pool, &rq, OVERHEAD_MS, &b->exchange);
	if (request.data)
		explicit_bzero(request.data, request.len);
	return r;
}

static void batch_start(struct batch *b, const struct fetch_all *q)
{
	struct err err = { 0 };
	int r;

	*b = (struct batch){ .q = q };
	for (size_t i = 0; i < q->n; i++)
		b->left[i] = q->max_bytes;
	r = batch_send(b, &err);
	if (r < 0)
		batch_end(b, r, err.msg[0] ? err.msg : strerror(-r));
}

/*
 * Handles the messages that have arrived. URLs that a process has not ended when it replies are
 * ended here.
 */
static void batch_turn(struct batch *b)
{
	int r = role_exchange_poll(b->exchange, 0);

	if (r == -EAGAIN)
		return;
	if (r == 0)
		r = role_exchange_reply(b->exchange)->result;
	batch_end(b, r < 0 ? r : -EBADMSG, r < 0 ? strerror(-r) : "no result");
}

/*
 * Waits for messages of any batch, at most for POLL_MS, and handles them. Returns false when all
 * batches have ended.
 */
static bool turn(struct batch *batches, size_t n)
{
	struct pollfd fds[FETCH_BATCHES_MAX];
	nfds_t n_fds = 0;

	for (size_t i = 0; i < n; i++)
		if (batches[i].exchange)
			fds[n_fds++] = (struct pollfd){ .fd = role_exchange_fd(batches[i].exchange),
							.events = POLLIN };
	if (!n_fds)
		return false;
	(void)poll(fds, n_fds, POLL_MS); /* errors are those of the exchanges */
	for (size_t i = 0; i < n; i++)
		if (batches[i].exchange)
			batch_turn(&batches[i]);
	return true;
}

static bool is_valid(const struct fetch_all *q, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!q[i].n || q[i].n > FETCH_ALL_MAX || q[i].n_headers > FETCH_HEADERS_MAX)
			return false;
	return n && n <= FETCH_BATCHES_MAX;
}

int fetcher_get_all(const struct fetch_all *q, size_t n, const atomic_bool *cancelled)
{
	struct batch batches[FETCH_BATCHES_MAX];

	if (!is_valid(q, n))
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		batch_start(&batches[i], &q[i]);
	while (turn(batches, n)) {
		if (!cancelled || !atomic_load(cancelled))
			continue;
		for (size_t i = 0; i < n; i++)
			role_exchange_end(batches[i].exchange);
		return -ECANCELED;
	}
	return 0;
}
