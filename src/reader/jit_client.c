/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/jit_client.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "reader/reader.h"
#include "roles/pool.h"

struct received {
	const struct jit_query *q;
	uint32_t n; /* functions received */
};

/* Handles a PART. A reader that sends more functions than addresses has been compromised. */
static int on_part(void *ctx, uint32_t kind, const void *data, size_t len)
{
	struct received *a = ctx;
	const uint8_t *p = data;
	struct jit_found f;
	int r;

	(void)kind;
	while ((r = jit_found_next(&p, &len, a->q->request.n, &f)) > 0) {
		if (++a->n > a->q->request.n)
			return -EBADMSG;
		r = a->q->found(a->q->ctx, &f);
		if (r < 0)
			return r;
	}
	return r;
}

/*
 * Returns the result of a reply; -EBADMSG if a reader that works as intended would not send it,
 * such as a position before that of the request.
 */
static int check_reply(const struct role_reply *r, const struct jit_query *q, uint64_t *out_end)
{
	struct jit_reply reply;

	if (r->result < 0)
		return r->result == -EAGAIN || r->result == -ENOMEM ? r->result : -EBADMSG;
	if (r->len != sizeof(reply))
		return -EBADMSG;
	memcpy(&reply, r->data, sizeof(reply));
	if (reply.end < q->request.from)
		return -EBADMSG;
	*out_end = reply.end;
	return 0;
}

int jit_client_find(struct role_pool *pool, const struct jit_query *q, uint64_t *out_end)
{
	size_t addrs_len = q->request.n * sizeof(uint64_t), len = sizeof(q->request) + addrs_len;
	_cleanup_(freep) uint8_t *body = malloc(len);
	_cleanup_(role_exchange_endp) struct role_exchange *x = NULL;
	struct received received = { .q = q };
	const struct role_request request = {
		.kind = READER_JIT,
		.data = body,
		.len = len,
		.fds = &q->fd,
		.n_fds = 1,
		.timeout_ms = q->timeout_ms,
		.waited_ns = q->waited_ns,
		.until_ns = q->until_ns,
		.part = on_part,
		.ctx = &received,
	};
	int r;

	if (!body)
		return -ENOMEM;
	memcpy(body, &q->request, sizeof(q->request));
	memcpy(body + sizeof(q->request), q->addrs, addrs_len);
	r = role_pool_call(pool, &request, &x);
	if (r < 0)
		return r;
	r = check_reply(role_exchange_reply(x), q, out_end);
	if (r == -EBADMSG)
		role_exchange_reject(x);
	return r;
}
