/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/profile_job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "codec/common/limits.h"
#include "codec/pprof/pprof.h"
#include "profile/delta.h"
#include "profile/profile.h"
#include "reader/profile_message.h"
#include "roles/memfd.h"
#include "roles/role.h"

/* Bytes of a body after decompression; the memory of the role limits what they become. */
enum { EXPANDED_MAX = 24 << 20 };

static const struct codec_limits limits = {
	.bytes = EXPANDED_MAX,
	.strings = 1 << 20,
	.entries = 1 << 20,
	.samples = 1 << 20,
	.depth = 1024,
	.labels = 64,
	.label_sum = 1 << 20,
};

static int read_body(int fd, struct profile **out, struct err *err)
{
	struct role_memfd m;
	int r = role_memfd_map(&m, fd, PROFILE_BODY_MAX);

	if (r < 0)
		return r;
	r = pprof_read(out, m.data, m.len, &limits, err);
	role_memfd_unmap(&m);
	return r;
}

/* Sends the profile of one sample type. *@io_left: bytes that may still be sent. */
static int send_type(struct role_call *call, const struct profile *joined, size_t n_types,
		     size_t type, size_t *io_left)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	_cleanup_(buf_fini) struct buf b = { .max = *io_left };
	int r = profile_delta_take(&p, joined, n_types, type);

	if (r == 0)
		r = pprof_write(p, &b, NULL);
	if (r == 0)
		r = role_call_stream(call, (uint32_t)type, b.data, b.len);
	*io_left -= b.len;
	return r;
}

static int send_all(struct role_call *call, const struct profile *now, const struct profile *before,
		    bool is_delta)
{
	_cleanup_(profile_freep) struct profile *joined = NULL;
	size_t n = profile_n_sample_types(now), left = PROFILE_STREAM_MAX;
	int r = profile_delta_join(&joined, now, before);

	for (size_t i = 0; r == 0 && i < n; i++) {
		const char *type = profile_string(now, profile_sample_type(now, i).type);

		if (before || is_delta || !profile_delta_is_cumulative(type))
			r = send_type(call, joined, n, i, &left);
	}
	return r;
}

/* A profile that cannot follow the one before, which is of another program, is the first one. */
static int read_and_send(struct role_call *call, struct profile_reply *reply, struct err *err)
{
	const struct profile_request *q = call->request;
	_cleanup_(profile_freep) struct profile *now = NULL, *before = NULL;
	int r = read_body(call->fds[0], &now, err);

	if (r == 0 && q->has_before && read_body(call->fds[1], &before, NULL) == -ENOMEM)
		r = -ENOMEM;
	if (r < 0)
		return r;
	r = send_all(call, now, before, q->is_delta);
	if (r == -EINVAL && before)
		r = send_all(call, now, NULL, q->is_delta);
	reply->n_types = r < 0 ? 0 : (uint32_t)profile_n_sample_types(now);
	return r;
}

int reader_profile_job(struct role_call *call)
{
	const struct profile_request *q = call->request;
	struct profile_reply *reply = call->reply;
	struct err err = { 0 };
	int r;

	if (call->n_fds != (q->has_before ? 2 : 1))
		return -EINVAL;
	*reply = (struct profile_reply){ 0 };
	r = read_and_send(call, reply, &err);
	if (r < 0)
		snprintf(reply->why, sizeof(reply->why), "%.159s",
			 err.msg[0] ? err.msg : strerror(-r));
	call->reply_len = sizeof(*reply);
	return r;
}
