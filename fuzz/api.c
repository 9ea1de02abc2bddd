/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client sends arbitrary requests to a whole server: HTTP/2, gRPC framing, admission, decoding,
 * ingestion and queries. There is no socket and no other thread, so an execution takes microseconds
 * instead of the milliseconds of fuzz/connection.c. The first byte of the input selects what the
 * rest is, the second the path where one is needed:
 *
 *   0  bytes after the preface of an HTTP/2 connection, in pieces of any size
 *   1  the body of a gRPC request
 *   2  the message of a gRPC request, which gets a correct frame
 *   3  the body of a request in JSON or protobuf, depending on its first byte
 *
 * Properties: each complete request is answered, and memory of bodies and budget is released.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "http2.h"
#include "net/h2_session.h"
#include "net/http_work.h"
#include "server/pools.h"
#include "server/requests.h"
#include "server/server.h"
#include "server/server_options.h"
#include "server/server_state.h"
#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { STORED = 500 }; /* batches of profiles; later ones are accepted and dropped */

static char dir[] = "/tmp/fuzz-api.XXXXXX";
static struct server *server;
static struct http_work *work;
static struct store_ops ops;
static int (*append)(struct store *s, const char *tenant, const struct store_profile *profiles,
		     size_t n, struct err *err);

struct finished {
	VEC(struct http_request *);
};

static int append_some(struct store *s, const char *tenant, const struct store_profile *profiles,
		       size_t n, struct err *err)
{
	static unsigned int stored;

	return stored++ < STORED ? append(s, tenant, profiles, n, err) : 0;
}

static void stop(void)
{
	char command[sizeof(dir) + 16];

	http_work_close(work);
	server_close(server);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command) != 0)
		fprintf(stderr, "%s: cannot be removed\n", dir);
}

static void begin(void)
{
	struct http_pool_options pools[POOL_MAX];
	const struct server_options opt = {
		.host = "127.0.0.1", .dir = dir, .max_memory = (size_t)256 << 20, .max_series = 1000
	};
	struct http_server_options http = { .pools = pools,
					    .n_pools = POOL_MAX,
					    .max_body = 1 << 20,
					    .max_memory = 1 << 22,
					    .handler = requests_answer,
					    .refused = requests_count_refusal,
					    .admit = requests_admit,
					    .begin = requests_begin,
					    .released = requests_release };
	struct err err = { 0 };

	if (!mkdtemp(dir) || server_open(&server, &opt, &err) < 0) {
		fprintf(stderr, "the server does not start: %s\n", err.msg);
		abort();
	}
	ops = *server->store->ops;
	append = ops.append;
	ops.append = append_some;
	server->store->ops = &ops;
	pools_options(pools, false);
	for (int i = 0; i < POOL_MAX; i++)
		pools[i].n_workers = 0;
	http.ctx = server;
	if (http_work_open(&work, &http) < 0)
		abort();
	atexit(stop);
}

static void finish(void *ctx, struct http_request *rq)
{
	struct finished *f = ctx;

	if (vec_push(f, rq) < 0)
		abort();
}

static void respond(struct h2_session *s, struct finished *f)
{
	const uint8_t *out;

	for (size_t i = 0; i < f->len; i++)
		h2_session_respond(f->data[i]);
	f->len = 0;
	while (h2_session_take(s, &out) > 0)
		;
}

/* The sizes of pieces are bytes of the input as well. */
static void send_bytes(const uint8_t *data, size_t len, bool in_pieces)
{
	const struct http_peer peer = { 0 };
	struct finished f = { 0 };
	struct h2_session *s;
	size_t n;

	if (h2_session_new(&s, work, &peer, finish, NULL, &f) < 0)
		return;
	for (; len; data += n, len -= n) {
		n = in_pieces && data[0] + 1u < len ? data[0] + 1u : len;
		if (h2_session_feed(s, data, n) < 0)
			break;
		respond(s, &f);
	}
	respond(s, &f);
	if (h2_session_working(s) != 0)
		abort();
	h2_session_free(s);
	vec_fini(&f);
	if (atomic_load(&server->memory.reserved) != 0)
		abort();
}

static void send_request(const char *path, const char *type, const uint8_t *data, size_t len)
{
	_cleanup_(buf_fini) struct buf b = { 0 }, headers = { 0 };

	http2_header(&headers, ":method", "POST");
	http2_header(&headers, ":scheme", "http");
	http2_header(&headers, ":path", path);
	http2_header(&headers, ":authority", "localhost");
	http2_header(&headers, "content-type", type);
	http2_preface(&b);
	http2_frame(&b, 4, 0, 0, NULL, 0);                         /* SETTINGS */
	http2_frame(&b, 1, 4, 1, headers.data, headers.len);       /* HEADERS, END_HEADERS */
	http2_frame(&b, 0, 1, 1, data, len < 16384 ? len : 16384); /* DATA, END_STREAM */
	send_bytes(b.data, b.len, false);
}

static void send_message(const char *path, const uint8_t *data, size_t len)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	const uint8_t head[] = { 0, 0, 0, (uint8_t)(len >> 8), (uint8_t)len };

	buf_put(&b, head, sizeof(head));
	buf_put(&b, data, len);
	send_request(path, "application/grpc", b.data, b.len);
}

static void send_raw(const uint8_t *data, size_t len)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	http2_preface(&b);
	buf_put(&b, data, len);
	send_bytes(b.data, b.len, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	bool is_json;

	if (!server)
		begin();
	if (len < 3 || len > 16000)
		return 0;
	is_json = data[2] == '{' || data[2] == '[';
	switch (data[0] % 4) {
	case 0:
		send_raw(data + 1, len - 1);
		break;
	case 1:
		send_request(http2_path(data[1]), "application/grpc", data + 2, len - 2);
		break;
	case 2:
		send_message(http2_path(data[1]), data + 2, len - 2);
		break;
	default:
		send_request(http2_path(data[1]),
			     is_json ? "application/json" : "application/proto", data + 2, len - 2);
	}
	return 0;
}
