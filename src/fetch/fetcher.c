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
