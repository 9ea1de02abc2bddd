/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body comes in parts, not in a file that both processes can write: what was received and
 * checked can then not change afterwards.
 */
#include "fetch/fetcher.h"

#include <errno.h>
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
	POLL_MS = 250,      /* between two looks at fetch_all.cancelled */
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
			 (q->any_redirect ? FETCH_ANY_REDIRECT : 0) |
			 (q->ca_fd >= 0 ? FETCH_HAS_CA : 0),
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

static int encode_all(const struct fetch_all *q, struct buf *out)
{
	const struct fetch_all_request fixed = {
		.max_bytes = q->max_bytes,
		.timeout_ms = q->timeout_ms,
		.n = (uint32_t)q->n,
	};

	buf_put(out, &fixed, sizeof(fixed));
	for (size_t i = 0; i < q->n; i++)
		buf_put(out, q->urls[i], strlen(q->urls[i]) + 1);
	return buf_error(out);
}

/* Returns the result of the job, or -errno. */
static int wait_for_all(struct role_exchange *x, const struct fetch_all *q)
{
	int r;

	while ((r = role_exchange_poll(x, POLL_MS)) == -EAGAIN)
		if (q->cancelled && atomic_load(q->cancelled))
			return -ECANCELED;
	return r < 0 ? r : role_exchange_reply(x)->result;
}

/* Ends the URLs that a process did not end, because it died or was none. */
static void end_others(struct batch *b, int r, const char *why)
{
	for (size_t i = 0; i < b->q->n; i++)
		if (!b->has_ended[i])
			b->q->end(b->q->ctx, i, r, why);
}

static int run_all(struct fetcher *f, struct batch *b, struct err *err)
{
	_cleanup_(buf_fini) struct buf request = { 0 };
	_cleanup_(role_exchange_endp) struct role_exchange *x = NULL;
	struct role_request rq = {
		.kind = FETCH_GET_ALL,
		.timeout_ms = b->q->timeout_ms + OVERHEAD_MS,
		.part = on_batch_part,
		.ctx = b,
	};
	int r = encode_all(b->q, &request);

	rq.data = request.data;
	rq.len = request.len;
	if (r == 0)
		r = start(f, err);
	if (r == 0)
		r = role_pool_start(f->pool, &rq, OVERHEAD_MS, &x);
	return r < 0 ? r : wait_for_all(x, b->q);
}

int fetcher_get_all(struct fetcher *f, const struct fetch_all *q, struct err *err)
{
	struct batch b = { .q = q };
	int r;

	if (!q->n || q->n > FETCH_ALL_MAX)
		return err_set(err, -EINVAL, "%zu URLs: expected 1 to %d", q->n, FETCH_ALL_MAX);
	for (size_t i = 0; i < q->n; i++)
		b.left[i] = q->max_bytes;
	r = run_all(f, &b, err);
	if (r < 0)
		err_set(err, r, "%s", strerror(-r));
	if (r != -ECANCELED)
		end_others(&b, r < 0 ? r : -EBADMSG, r < 0 && err ? err->msg : "no result");
	return r;
}
