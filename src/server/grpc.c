/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame is a byte that says whether the message is compressed, four bytes of
 * its length, and the message. The status of HTTP is always 200.
 */
#include "server/grpc.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "codec/gzip.h"
#include "net/http_server.h"
#include "server/rpc.h"

enum {
	FRAME_HEAD = 5,
	STATUS_ROOM = 16,
};

static const char kind[] = "application/grpc";

bool grpc_is(const struct rpc *rpc)
{
	const char *type = http_request_header(rpc->rq, "Content-Type");
	size_t len = sizeof(kind) - 1;

	return type && !strncmp(type, kind, len) &&
	       (!type[len] || type[len] == ';' || !strcmp(type + len, "+proto"));
}

static int read_message(struct rpc *rpc, struct buf *room)
{
	const char *encoding = http_request_header(rpc->rq, "grpc-encoding");
	const uint8_t *p = http_request_body(rpc->rq, &rpc->len);
	int r;

	if (rpc->len < FRAME_HEAD || ((size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 |
				      p[4]) != rpc->len - FRAME_HEAD)
		return err_set(rpc->err, -EBADMSG, "one whole message is expected");
	rpc->len -= FRAME_HEAD;
	rpc->body = p + FRAME_HEAD;
	if (!p[0])
		return 0;
	if (p[0] != 1 || !encoding || strcmp(encoding, "gzip") != 0)
		return err_set(rpc->err, -ENOSYS, "of compressions only gzip is taken");
	r = gzip_read(rpc->body, rpc->len, connect_max_decompressed(rpc), room, rpc->err);
	rpc->body = room->data;
	rpc->len = room->len;
	return r == -EFBIG ? -EMSGSIZE : r;
}

static void put_message(struct http_response *rs)
{
	uint32_t len = (uint32_t)rs->body.len;
	const uint8_t head[FRAME_HEAD] = { 0, (uint8_t)(len >> 24), (uint8_t)(len >> 16),
					   (uint8_t)(len >> 8), (uint8_t)len };
	struct buf framed = { 0 };

	buf_put(&framed, head, sizeof(head));
	buf_put(&framed, rs->body.data, rs->body.len);
	framed.error = framed.error ? framed.error : rs->body.error;
	buf_fini(&rs->body);
	rs->body = framed;
}

/* A trailer's value may have no bytes that are not printed, so they are escaped. */
static void escape(const char *from, char *to, size_t room)
{
	size_t n = 0;

	for (; *from && n + 4 < room; from++) {
		unsigned char c = (unsigned char)*from;

		if (c >= ' ' && c < 0x7f && c != '%')
			to[n++] = *from;
		else
			n += (size_t)snprintf(to + n, room - n, "%%%02X", c);
	}
	to[n] = 0;
}

void grpc_refuse(struct rpc *rpc, int r)
{
	const struct connect_failure *f = connect_failed(rpc, r);
	struct http_response *rs = rpc->rs;
	char *message = rs->trailer_text + STATUS_ROOM;

	rs->content_type = kind;
	rs->body.len = 0;
	snprintf(rs->trailer_text, STATUS_ROOM, "%d", f->grpc);
	escape(rpc->err->msg[0] ? rpc->err->msg : strerror(-r), message,
	       sizeof(rs->trailer_text) - STATUS_ROOM);
	http_response_add_trailer(rs, "grpc-status", rs->trailer_text);
	http_response_add_trailer(rs, "grpc-message", message);
}

void grpc_call(struct rpc *rpc, rpc_fn run)
{
	_cleanup_(buf_fini) struct buf room = { 0 };
	int r;

	if (!grpc_is(rpc)) {
		rpc->rs->status = 415;
		return;
	}
	rpc->rs->content_type = kind;
	rpc->json = false;
	r = read_message(rpc, &room);
	if (r == 0)
		r = run(rpc);
	if (r < 0) {
		grpc_refuse(rpc, r);
		return;
	}
	put_message(rpc->rs);
	http_response_add_trailer(rpc->rs, "grpc-status", "0");
}
