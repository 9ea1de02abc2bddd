/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gRPC frame is a flag for compression, its length in four bytes, and the message. The HTTP
 * status of a call is 200, and its own status is in the trailers. See "gRPC over HTTP2" in the gRPC
 * repository. A request is complete before it is handled, so the frame's length must be that of the
 * body: a second message or a partial one is an error.
 */
#include "server/grpc.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "codec/common/gzip.h"
#include "net/http_server.h"
#include "server/failure.h"

enum {
	FRAME_HEAD = 5,
	STATUS_ROOM = 16,   /* bytes of trailer_text for each of the first two trailers */
	MESSAGE_ROOM = 736, /* an error of 200 bytes, percent-encoded */
};

static const char kind[] = "application/grpc";

bool grpc_is(const struct rpc *rpc)
{
	const char *type = http_request_header(rpc->rq, "Content-Type");
	size_t len = sizeof(kind) - 1;

	return type && !strncmp(type, kind, len) &&
	       (!type[len] || type[len] == ';' || !strcmp(type + len, "+proto"));
}

/*
 * Takes the message out of its frame and decompresses it. A message of another codec is refused as
 * unimplemented, as the specification demands.
 */
static int read_message(struct rpc *rpc, struct buf *decompressed)
{
	const char *encoding = http_request_header(rpc->rq, "grpc-encoding");
	const uint8_t *p = http_request_body(rpc->rq, &rpc->len);
	int r;

	if (rpc->len < FRAME_HEAD || ((size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 |
				      p[4]) != rpc->len - FRAME_HEAD)
		return err_set(rpc->err, -EBADMSG,
			       "gRPC: the body is not exactly one complete message");
	rpc->len -= FRAME_HEAD;
	rpc->body = p + FRAME_HEAD;
	if (!p[0])
		return 0;
	if (p[0] != 1 || !encoding || strcmp(encoding, "gzip") != 0)
		return err_set(rpc->err, -ENOSYS,
			       "gRPC: unsupported grpc-encoding; use gzip or identity");
	r = gzip_read_claiming(rpc->body, rpc->len, request_max_decompressed(rpc), decompressed,
			       rpc->claim, rpc->claim_ctx, rpc->err);
	rpc->body = decompressed->data;
	rpc->len = decompressed->len;
	return r == -EFBIG ? -EMSGSIZE : r;
}

/* Puts the head in front of the response's message. Responses are never compressed here. */
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

/* Trailers must be printable ASCII, so other bytes are percent-encoded. */
static void escape(const char *from, char *to, size_t size)
{
	size_t n = 0;

	for (; *from && n + 4 < size; from++) {
		unsigned char c = (unsigned char)*from;

		if (c >= ' ' && c < 0x7f && c != '%')
			to[n++] = *from;
		else
			n += (size_t)snprintf(to + n, size - n, "%%%02X", c);
	}
	to[n] = 0;
}

/*
 * Writes the status of the call a second time, as a message with details. Clients prefer it, so it
 * is sent only where its details matter, that is, where they allow a retry.
 */
static void add_details(struct rpc *rpc, const struct failure *f, const char *message)
{
	_cleanup_(buf_fini) struct buf status = { 0 }, text = { 0 };
	struct http_response *rs = rpc->rs;
	char *room = rs->trailer_text + STATUS_ROOM + MESSAGE_ROOM;

	failure_put_status(f, message, &status);
	base64_encode(status.data, status.len, &text);
	if (buf_error(&status) || buf_error(&text) ||
	    text.len >= sizeof(rs->trailer_text) - STATUS_ROOM - MESSAGE_ROOM)
		return;
	memcpy(room, text.data, text.len);
	room[text.len] = 0;
	http_response_add_trailer(rs, "grpc-status-details-bin", room);
}

void grpc_refuse(struct rpc *rpc, int r)
{
	const char *text = failure_message(rpc, r);
	struct http_response *rs = rpc->rs;
	char *message = rs->trailer_text + STATUS_ROOM;
	const struct failure *f;

	if (r == RPC_MOVED)
		return;
	f = failure_record(rpc, r);
	rs->content_type = kind;
	buf_clear(&rs->body);
	snprintf(rs->trailer_text, STATUS_ROOM, "%d", f->grpc);
	escape(text, message, MESSAGE_ROOM);
	http_response_add_trailer(rs, "grpc-status", rs->trailer_text);
	http_response_add_trailer(rs, "grpc-message", message);
	if (f->retry_s)
		add_details(rpc, f, text);
}

void grpc_call(struct rpc *rpc, rpc_fn run)
{
	_cleanup_(buf_fini) struct buf decompressed = { 0 };
	int r;

	if (!grpc_is(rpc)) {
		rpc->rs->status = 415;
		return;
	}
	rpc->rs->content_type = kind;
	rpc->json = false;
	r = read_message(rpc, &decompressed);
	if (r == 0)
		r = run(rpc);
	if (r < 0) {
		grpc_refuse(rpc, r);
		return;
	}
	put_message(rpc->rs);
	http_response_add_trailer(rpc->rs, "grpc-status", "0");
}
