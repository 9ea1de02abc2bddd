/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors travel as -errno and leave here as status and code. Which code belongs
 * to which status is Connect's, except that too much is 413 or 422 where HTTP has
 * a word of its own: clients go by the code in the body.
 */
#include "server/connect.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "codec/gzip.h"
#include "net/http_server.h"
#include "server/counters.h"
#include "server/grpc.h"
#include "server/rpc.h"
#include "server/server.h"

enum {
	WORTH_COMPRESSING = 1024,
	MAX_DECOMPRESSED = 128 << 20,
};

static const struct connect_failure failures[] = {
	{ -EINVAL, 400, 3, "invalid_argument", COUNTER_REFUSED },
	{ -EBADMSG, 400, 3, "invalid_argument", COUNTER_REFUSED },
	{ -EACCES, 401, 16, "unauthenticated", COUNTER_UNKNOWN_CLIENT },
	{ -EPERM, 403, 7, "permission_denied", COUNTER_UNKNOWN_CLIENT },
	{ -ENOENT, 404, 5, "not_found", COUNTER_REFUSED },
	{ -ENXIO, 404, 12, "unimplemented", COUNTER_REFUSED }, /* a method nobody knows */
	{ -EMSGSIZE, 413, 8, "resource_exhausted", COUNTER_LIMIT_BODY },
	{ -EFBIG, 422, 3, "invalid_argument", COUNTER_LIMIT_SIZE },
	{ -ERANGE, 422, 3, "invalid_argument", COUNTER_LIMIT_RANGE },
	{ -EDQUOT, 429, 8, "resource_exhausted", COUNTER_LIMIT_SERIES },
	{ -ENOMEM, 429, 8, "resource_exhausted", COUNTER_LIMIT_MEMORY },
	{ -ENOSPC, 507, 14, "unavailable", COUNTER_LIMIT_DISK },
	{ -ENOSYS, 501, 12, "unimplemented", COUNTER_REFUSED },
	{ -ECONNREFUSED, 503, 14, "unavailable", COUNTER_REFUSED }, /* the store's own server */
	{ -EAGAIN, 503, 14, "unavailable", COUNTER_REFUSED },
	{ -ETIMEDOUT, 504, 4, "deadline_exceeded", COUNTER_LIMIT_TIME },
};

static const struct connect_failure unknown = { 0, 500, 2, "unknown", COUNTER_REFUSED };

const struct connect_failure *connect_failed(struct rpc *rpc, int r)
{
	const struct connect_failure *f = &unknown;

	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
		if (failures[i].error == r)
			f = &failures[i];
	counters_add(rpc->counters, COUNTER_REFUSED);
	if (f->counter != COUNTER_REFUSED)
		counters_add(rpc->counters, f->counter);
	return f;
}

void connect_refuse(struct rpc *rpc, int r)
{
	const struct connect_failure *f = connect_failed(rpc, r);
	struct http_response *rs = rpc->rs;
	struct json j;

	rs->status = f->status;
	rs->content_type = "application/json";
	rs->body.len = 0;
	j = json_to(&rs->body);
	json_object(&j);
	json_key(&j, "code");
	json_str(&j, f->code);
	json_key(&j, "message");
	json_str(&j, rpc->err->msg[0] ? rpc->err->msg : strerror(-r));
	json_object_end(&j);
}

size_t connect_max_decompressed(const struct rpc *rpc)
{
	size_t part = rpc->opt->max_memory / 8;

	return part && part < MAX_DECOMPRESSED ? part : MAX_DECOMPRESSED;
}

/* Undo the body's compression, if any. */
static int read_body(struct rpc *rpc, struct buf *room)
{
	const char *encoding = http_request_header(rpc->rq, "Content-Encoding");
	int r;

	rpc->body = http_request_body(rpc->rq, &rpc->len);
	if (!encoding || !strcmp(encoding, "identity") || !encoding[0])
		return 0;
	if (strcmp(encoding, "gzip") != 0)
		return err_set(rpc->err, -ENOSYS, "encoding %.40s is not taken", encoding);
	r = gzip_read(rpc->body, rpc->len, connect_max_decompressed(rpc), room, rpc->err);
	rpc->body = room->data;
	rpc->len = room->len;
	return r == -EFBIG ? -EMSGSIZE : r;
}

static bool is_method(struct rpc *rpc, const char *method)
{
	bool is = !strcmp(http_request_method(rpc->rq), method);

	if (!is)
		rpc->rs->status = 405;
	return is;
}

static bool is_json(const char *type)
{
	return !strncasecmp(type, "application/json", 16) && (!type[16] || type[16] == ';');
}

static void call(struct rpc *rpc, rpc_fn run, bool json_only)
{
	const char *type = http_request_header(rpc->rq, "Content-Type");
	const char *version = http_request_header(rpc->rq, "Connect-Protocol-Version");
	_cleanup_(buf_fini) struct buf room = { 0 };
	int r;

	if (!is_method(rpc, "POST"))
		return;
	if (!json_only && grpc_is(rpc)) {
		grpc_call(rpc, run);
		return;
	}
	rpc->json = type && is_json(type);
	if (!type || (!rpc->json && (json_only || strcmp(type, "application/proto") != 0))) {
		rpc->rs->status = 415;
		return;
	}
	rpc->rs->content_type = rpc->json ? "application/json" : "application/proto";
	r = version && strcmp(version, "1") != 0
		    ? err_set(rpc->err, -EINVAL, "Connect-Protocol-Version must be 1")
		    : read_body(rpc, &room);
	if (r == 0)
		r = run(rpc);
	if (r < 0)
		connect_refuse(rpc, r);
}

void connect_call(struct rpc *rpc, rpc_fn run)
{
	call(rpc, run, false);
}

void connect_call_json(struct rpc *rpc, rpc_fn run)
{
	call(rpc, run, true);
}

void connect_upload(struct rpc *rpc, rpc_fn run)
{
	_cleanup_(buf_fini) struct buf room = { 0 };
	int r;

	if (!is_method(rpc, "POST"))
		return;
	r = read_body(rpc, &room);
	if (r == 0)
		r = run(rpc);
	if (r < 0)
		connect_refuse(rpc, r);
	if (r == -EBADMSG)
		rpc->rs->status = 422;
}

static void put_text(struct rpc *rpc, int status, const char *text)
{
	rpc->rs->status = status;
	rpc->rs->content_type = "text/plain; charset=utf-8";
	rpc->rs->body.len = 0;
	buf_put_str(&rpc->rs->body, text);
	buf_put_byte(&rpc->rs->body, '\n');
}

void connect_otlp(struct rpc *rpc, rpc_fn run)
{
	const char *type = http_request_header(rpc->rq, "Content-Type");
	_cleanup_(buf_fini) struct buf room = { 0 };
	int r;

	if (!is_method(rpc, "POST"))
		return;
	rpc->json = type && is_json(type);
	if (!type || (!rpc->json && strcmp(type, "application/x-protobuf") != 0 &&
		      strcmp(type, "application/protobuf") != 0)) {
		put_text(rpc, 415, "application/x-protobuf or application/json is expected");
		return;
	}
	rpc->rs->content_type = "application/x-protobuf";
	r = read_body(rpc, &room);
	if (r == 0)
		r = run(rpc);
	if (r == 0)
		return;
	connect_refuse(rpc, r);
	put_text(rpc, rpc->rs->status, rpc->err->msg[0] ? rpc->err->msg : strerror(-r));
}

void connect_get(struct rpc *rpc, rpc_fn run)
{
	int r;

	if (strcmp(http_request_method(rpc->rq), "HEAD") != 0 && !is_method(rpc, "GET"))
		return;
	r = run(rpc);
	if (r < 0)
		connect_refuse(rpc, r);
}

void connect_resource(struct rpc *rpc, rpc_fn run)
{
	_cleanup_(buf_fini) struct buf room = { 0 };
	int r;

	if (strcmp(http_request_method(rpc->rq), "POST") != 0) {
		connect_get(rpc, run);
		return;
	}
	r = read_body(rpc, &room);
	if (r == 0)
		r = run(rpc);
	if (r < 0)
		connect_refuse(rpc, r);
}

/* "br, gzip;q=0.5": does the list have gzip, and not at 0? */
bool connect_takes_gzip(const struct rpc *rpc)
{
	const char *accept = http_request_header(rpc->rq, "Accept-Encoding");

	while (accept && *accept) {
		size_t len = strcspn(accept, ","), name;
		const char *q;

		accept += strspn(accept, " \t");
		name = strcspn(accept, ",; \t");
		len = strcspn(accept, ",");
		q = memchr(accept, ';', len);
		if ((name == 4 && !strncasecmp(accept, "gzip", 4)) || (name == 1 && *accept == '*'))
			return !q || !(q = strstr(q, "q=")) || q > accept + len ||
			       strtod(q + 2, NULL) > 0;
		accept += len + (accept[len] == ',');
	}
	return false;
}

static bool is_packed(const struct http_response *rs)
{
	for (size_t i = 0; i < rs->n_headers; i++)
		if (!strcmp(rs->headers[i].name, "Content-Encoding"))
			return true;
	return false;
}

void connect_compress(struct rpc *rpc)
{
	struct http_response *rs = rpc->rs;
	struct buf packed = { 0 };

	if (rs->body.len < WORTH_COMPRESSING || rs->n_trailers || is_packed(rs) ||
	    buf_error(&rs->body) || !connect_takes_gzip(rpc))
		return;
	if (gzip_write(rs->body.data, rs->body.len, GZIP_FAST, &packed, NULL) < 0 ||
	    packed.len >= rs->body.len) {
		buf_fini(&packed);
		return;
	}
	buf_fini(&rs->body);
	rs->body = packed;
	http_response_add(rs, "Content-Encoding", "gzip");
}
