/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file is scanned once, through a window, for all addresses of the request. Scans note where in
 * the file the names are; the names are read when the functions are sent.
 */
#include "reader/jit_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "reader/jit_message.h"
#include "roles/role.h"
#include "symbol/jit_input.h"
#include "symbol/jitdump.h"
#include "symbol/perfmap.h"

/* Reads a text of the file into @out, which has room for it. Returns its length up to a NUL. */
static size_t read_text(int fd, const struct jit_text *t, char *out)
{
	ssize_t n = t->len ? pread(fd, out, t->len, (off_t)t->off) : 0;

	return n > 0 ? strnlen(out, (size_t)n) : 0;
}

/* Sends the functions in the buffer as one PART, and empties it. */
static int flush(struct role_call *call, struct buf *b)
{
	int r = buf_error(b) ? -ENOMEM : b->len ? role_call_part(call, 0, b->data, b->len) : 0;

	b->len = 0;
	return r;
}

/* Sends the function at address @index of the request, if one was found. */
static int put_place(struct role_call *call, struct buf *b, const struct jit_place *place,
		     uint32_t index)
{
	char name[JIT_NAME_MAX], file[JIT_NAME_MAX];
	struct jit_found f = { .index = index, .line = place->line, .name = name, .file = file };
	int r = 0;

	if (!place->size)
		return 0;
	f.name_len = read_text(call->fds[0], &place->name, name);
	f.file_len = read_text(call->fds[0], &place->file, file);
	if (!f.name_len)
		return 0;
	if (b->len + jit_found_len(&f) > ROLE_BODY_MAX)
		r = flush(call, b);
	jit_found_put(b, &f);
	return r;
}

static int send_places(struct role_call *call, const struct jit_places *places,
		       const uint64_t *addrs, uint32_t n)
{
	struct buf b = { 0 };
	int r = 0;

	for (uint32_t i = 0; i < n && r == 0; i++)
		r = put_place(call, &b, &places->data[jit_places_from(places, addrs[i])], i);
	if (r == 0)
		r = flush(call, &b);
	buf_fini(&b);
	return r;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* A file that is malformed or too long has functions up to there. */
static int scan(const struct jit_request *q, int fd, uint64_t *at, struct jit_places *places)
{
	_cleanup_(freep) struct jit_input *in = calloc(1, sizeof(*in));
	int r = 0;

	if (!in)
		return -ENOMEM;
	in->fd = fd;
	if (q->format == JIT_PERF_MAP) {
		in->end = min_u64(q->end, PERFMAP_BYTES_MAX);
		perfmap_scan(in, at, places);
	} else {
		in->end = min_u64(q->end, JITDUMP_BYTES_MAX);
		r = jitdump_scan(in, at, places);
	}
	return r == -EBADMSG ? 0 : r;
}

int reader_jit_job(struct role_call *call)
{
	const uint64_t *addrs = jit_request_check(call->request, call->request_len);
	const struct jit_request *q = call->request;
	struct jit_places places = { 0 };
	struct jit_reply reply;
	int r;

	if (!addrs || call->n_fds != 1)
		return -EINVAL;
	reply.end = q->from;
	r = jit_places_add(&places, addrs, q->n);
	if (r == 0)
		r = scan(q, call->fds[0], &reply.end, &places);
	if (r == 0)
		r = send_places(call, &places, addrs, q->n);
	vec_fini(&places);
	memcpy(call->reply, &reply, sizeof(reply));
	call->reply_len = sizeof(reply);
	return r;
}
