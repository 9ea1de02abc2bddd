/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/profile_client.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "codec/common/limits.h"
#include "codec/pprof/pprof.h"
#include "profile/profile.h"
#include "reader/profile_message.h"
#include "reader/reader.h"
#include "roles/memfd.h"
#include "roles/pool.h"

/* The parts of a reader, which may be compromised, since it has read untrusted bytes. */
struct streams {
	struct buf of[PROFILE_DELTA_TYPES_MAX];
	size_t left; /* bytes that may still come */
};

void profile_types_fini(struct profile_types *t)
{
	for (size_t i = 0; i < t->n; i++)
		profile_free(t->of[i]);
	t->n = 0;
}

static void streams_fini(struct streams *s)
{
	for (size_t i = 0; i < PROFILE_DELTA_TYPES_MAX; i++)
		buf_fini(&s->of[i]);
}

static int on_part(void *ctx, uint32_t kind, const void *data, size_t len)
{
	struct streams *s = ctx;

	if (kind >= PROFILE_DELTA_TYPES_MAX || len > s->left)
		return -EBADMSG;
	s->left -= len;
	buf_put(&s->of[kind], data, len);
	return buf_error(&s->of[kind]);
}

/* A sealed memory file with the content of @b, or -errno. */
static int memory_file(const struct buf *b)
{
	struct role_memfd m;
	int r = b->len ? role_memfd_new(&m, b->len) : -EBADMSG;

	if (r < 0)
		return r;
	memcpy(m.data, b->data, b->len);
	return role_memfd_seal(&m);
}

static int claim(void *ctx, size_t bytes, struct err *err)
{
	size_t *left = ctx;

	if (bytes > *left)
		return err_set(err, -EFBIG, "the profile needs too much memory");
	*left -= bytes;
	return 0;
}

/* Frees each stream once it was read, and all profiles after an error. */
static int read_streams(struct streams *s, const struct profile_query *q, size_t n,
			struct profile_types *out, struct err *err)
{
	int r = 0;

	for (; r == 0 && out->n < n; out->n++) {
		struct codec_limits limits = codec_limits_default();
		struct buf *b = &s->of[out->n];
		size_t left = q->max_bytes;

		limits.bytes = PROFILE_STREAM_MAX;
		limits.claim_profile = claim;
		limits.claim_ctx = &left;
		out->of[out->n] = NULL;
		if (b->len)
			r = pprof_read(&out->of[out->n], b->data, b->len, &limits, err);
		buf_fini(b);
	}
	if (r < 0)
		profile_types_fini(out);
	return r;
}

static int call(struct role_pool *pool, const struct profile_query *q, const int *fds, size_t n_fds,
		struct profile_types *out, struct err *err)
{
	const struct profile_request request = { .has_before = n_fds == 2,
						 .is_delta = q->is_delta };
	_cleanup_(streams_fini) struct streams streams = { .left = PROFILE_STREAM_MAX };
	const struct role_request rq = {
		.kind = READER_PROFILE,
		.data = &request,
		.len = sizeof(request),
		.fds = fds,
		.n_fds = n_fds,
		.timeout_ms = q->timeout_ms,
		.part = on_part,
		.ctx = &streams,
	};
	_cleanup_(role_exchange_endp) struct role_exchange *x = NULL;
	const struct profile_reply *reply;
	int r = role_pool_call(pool, &rq, &x);

	if (r < 0)
		return r;
	reply = profile_check_reply(role_exchange_reply(x)->data, role_exchange_reply(x)->len);
	r = role_exchange_reply(x)->result;
	if (!reply) {
		role_exchange_reject(x);
		return -EPIPE;
	}
	return r < 0 ? err_set(err, r, "%s", reply->why)
		     : read_streams(&streams, q, reply->n_types, out, err);
}

int profile_client_read(struct role_pool *pool, const struct profile_query *q,
			struct profile_types *out, struct err *err)
{
	_cleanup_(closep) int body = memory_file(q->body);
	_cleanup_(closep) int before = q->before && q->before->len ? memory_file(q->before) : -1;
	const int fds[] = { body, before };
	int r = body;

	out->n = 0;
	if (r >= 0)
		r = call(pool, q, fds, before >= 0 ? 2 : 1, out, err);
	return r < 0 ? err_set(err, r, "%s", strerror(-r)) : 0;
}
