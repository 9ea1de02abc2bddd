/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A handler fails with -errno; failure.h decides what that is on the wire. Nothing here trusts
 * lengths or encodings of a client: a body is decompressed up to a limit that follows from the
 * memory budget, and only after the request was admitted.
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
#include "codec/common/gzip.h"
#include "net/http_server.h"
#include "server/failure.h"
#include "server/grpc.h"
#include "server/rpc.h"

enum { MIN_COMPRESSED_BYTES = 1024 };

void connect_refuse(struct rpc *rpc, int r)
{
	struct http_response *rs = rpc->rs;
	const struct failure *f;
	struct json j;

	if (r == RPC_MOVED)
		return;
	f = failure_record(rpc, r);
	rs->status = f->status;
	if (f->retry_s)
		http_response_add(rs, "Retry-After", f->retry_after);
	rs->content_type = "application/json";
	buf_clear(&rs->body);
	j = json_to(&rs->body);
	json_object(&j);
	json_member_str(&j, "code", f->code);
	json_member_str(&j, "message", failure_message(rpc, r));
	json_object_end(&j);
}

/* Decompresses the request's body if it is compressed. */
static int read_body(struct rpc *rpc, struct buf *decompressed)
{
	const char *encoding = http_request_header(rpc->rq, "Content-Encoding");
	int r;

	rpc->body = http_request_body(rpc->rq, &rpc->len);
	if (!encoding || !strcmp(encoding, "identity") || !encoding[0])
		return 0;
	if (strcmp(encoding, "gzip") != 0)
		return err_set(rpc->err, -ENOSYS,
			       "Content-Encoding \"%.40s\" is not supported; use gzip or identity",
			       encoding);
	r = gzip_read_claiming(rpc->body, rpc->len, request_max_decompressed(rpc), decompressed,
			       rpc->claim, rpc->claim_ctx, rpc->err);
	rpc->body = decompressed->data;
	rpc->len = decompressed->len;
	return r == -EFBIG ? -EMSGSIZE : r;
}

static void refuse_verb(struct rpc *rpc, int status)
{
	counters_add(rpc->counters, COUNTER_REFUSED);
	counters_refuse(rpc->counters, REFUSAL_VERB);
	rpc->rs->status = status;
}

static void refuse_type(struct rpc *rpc, const char *expected)
{
	refuse_verb(rpc, 415);
	rpc->rs->content_type = "text/plain; charset=utf-8";
	buf_printf(&rpc->rs->body, "unsupported Content-Type: use %s\n", expected);
}

static bool is_method(struct rpc *rpc, const char *method)
{
	bool is = !strcmp(http_request_method(rpc->rq), method);

	if (!is)
		refuse_verb(rpc, 405);
	return is;
}

bool connect_accepts_method(struct rpc *rpc, const char *method)
{
	bool is_head = !strcmp(http_request_method(rpc->rq), "HEAD");

	return (is_head && !strcmp(method, "GET")) || is_method(rpc, method);
}

/* Parameters such as charset are accepted; the text must be UTF-8 anyway. */
static bool is_json(const char *type)
{
	return !strncasecmp(type, "application/json", 16) && (!type[16] || type[16] == ';');
}

/*
 * Checks method and content type as Connect requires, then decodes the body and runs the handler.
 */
static void call(struct rpc *rpc, rpc_fn run, bool json_only)
{
	const char *type = http_request_header(rpc->rq, "Content-Type");
	const char *version = http_request_header(rpc->rq, "Connect-Protocol-Version");
	_cleanup_(buf_fini) struct buf decompressed = { 0 };
	int r;

	if (!is_method(rpc, "POST"))
		return;
	if (!json_only && grpc_is(rpc)) {
		grpc_call(rpc, run);
		return;
	}
	rpc->json = type && is_json(type);
	if (!type || (!rpc->json && (json_only || strcmp(type, "application/proto") != 0))) {
		/* the methods of Pyroscope's API respond without a body, as Pyroscope does */
		if (json_only)
			refuse_type(rpc, "application/json");
		else
			refuse_verb(rpc, 415);
		return;
	}
	rpc->rs->content_type = rpc->json ? "application/json" : "application/proto";
	r = version && strcmp(version, "1") != 0
		    ? err_set(rpc->err, -EINVAL, "Connect-Protocol-Version must be 1")
		    : read_body(rpc, &decompressed);
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

/*
 * 422 instead of 400 for data that is not of the declared format: this status was recorded from
 * Pyroscope.
 */
void connect_upload(struct rpc *rpc, rpc_fn run)
{
	_cleanup_(buf_fini) struct buf decompressed = { 0 };
	int r;

	if (!is_method(rpc, "POST"))
		return;
	r = read_body(rpc, &decompressed);
	if (r == 0)
		r = run(rpc);
	if (r < 0)
		connect_refuse(rpc, r);
	if (r == -EBADMSG)
		rpc->rs->status = 422;
}

/* A google.rpc.Status in proto3's JSON. Clients take the pause from Retry-After. */
static void put_json_status(const struct failure *f, const char *message, struct buf *out)
{
	struct json j = json_to(out);

	json_object(&j);
	json_member_int(&j, "code", f->grpc);
	json_member_str(&j, "message", message);
	json_object_end(&j);
}

/* Returns true if the request is OTLP in one of its two types, and sets that of the response. */
static bool is_otlp(struct rpc *rpc)
{
	static const char *const types[] = { "application/x-protobuf", "application/protobuf" };
	const char *type = http_request_header(rpc->rq, "Content-Type");

	rpc->json = type && is_json(type);
	if (rpc->json)
		rpc->rs->content_type = "application/json";
	for (size_t i = 0; type && !rpc->json && i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(type, types[i]))
			rpc->rs->content_type = types[i];
	return rpc->rs->content_type != NULL;
}

/* The protocol requires errors in the type of the request. */
void connect_refuse_otlp(struct rpc *rpc, int r)
{
	const char *message = failure_message(rpc, r);
	struct http_response *rs = rpc->rs;
	const struct failure *f;

	if (r == RPC_MOVED)
		return;
	f = failure_record(rpc, r);
	is_otlp(rpc);
	rs->status = f->otlp;
	buf_clear(&rs->body);
	if (f->retry_s)
		http_response_add(rs, "Retry-After", f->retry_after);
	if (rpc->json)
		put_json_status(f, message, &rs->body);
	else
		failure_put_status(f, message, &rs->body);
}

void connect_otlp(struct rpc *rpc, rpc_fn run)
{
	_cleanup_(buf_fini) struct buf decompressed = { 0 };
	int r;

	if (!is_method(rpc, "POST"))
		return;
	if (!is_otlp(rpc)) {
		refuse_type(rpc, "application/x-protobuf or application/json");
		return;
	}
	r = read_body(rpc, &decompressed);
	if (r == 0)
		r = run(rpc);
	if (r < 0)
		connect_refuse_otlp(rpc, r);
}

void connect_get(struct rpc *rpc, rpc_fn run)
{
	int r;

	if (!connect_accepts_method(rpc, "GET"))
		return;
	r = run(rpc);
	if (r < 0)
		connect_refuse(rpc, r);
}

void connect_resource(struct rpc *rpc, rpc_fn run)
{
	_cleanup_(buf_fini) struct buf decompressed = { 0 };
	int r;

	if (strcmp(http_request_method(rpc->rq), "POST") != 0) {
		connect_get(rpc, run);
		return;
	}
	r = read_body(rpc, &decompressed);
	if (r == 0)
		r = run(rpc);
	if (r < 0)
		connect_refuse(rpc, r);
}

/* True if a list such as "br, gzip;q=0.5" accepts gzip with a quality above 0. */
bool connect_accepts_gzip(const struct rpc *rpc)
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

/* The page is stored compressed and sets the header itself. */
static bool is_compressed(const struct http_response *rs)
{
	for (size_t i = 0; i < rs->n_headers; i++)
		if (!strcmp(rs->headers[i].name, "Content-Encoding"))
			return true;
	return false;
}

void connect_compress(struct rpc *rpc)
{
	struct http_response *rs = rpc->rs;
	struct buf compressed = { 0 };

	if (rs->body.len < MIN_COMPRESSED_BYTES || rs->n_trailers || is_compressed(rs) ||
	    buf_error(&rs->body) || !connect_accepts_gzip(rpc))
		return;
	if (gzip_write(rs->body.data, rs->body.len, GZIP_FAST, &compressed, NULL) < 0 ||
	    compressed.len >= rs->body.len) {
		buf_fini(&compressed);
		return;
	}
	buf_fini(&rs->body);
	rs->body = compressed;
	http_response_add(rs, "Content-Encoding", "gzip");
}
