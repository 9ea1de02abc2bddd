/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which path is what, Connect's framing of requests and of errors, and what is
 * counted. There is one tenant as long as nothing tells them apart safely.
 */
#include "server/server.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "codec/gzip.h"
#include "net/http_server.h"
#include "server/page.h"
#include "server/rpc.h"
#include "store/store.h"

#define TENANT "anonymous"

enum {
	N_WORKERS = 8,
	MAX_CONNECTIONS = 16384,
	IDLE_SECONDS = 30,
	MAX_BODY = 64 << 20,
	MAX_BODIES = 128 << 20,
	MAX_DECOMPRESSED = 128 << 20,
	RETAIN_SECONDS = 60,
};

struct server {
	struct server_options opt;
	struct store *store;
	struct http_server *http;
	atomic_uint_fast64_t pushes, queries, errors;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop, retaining;
	pthread_t retainer;
};

/* Connect's codes, and the statuses that belong to them. */
static const struct failure {
	int error, status;
	const char *code;
} failures[] = {
	{ -EINVAL, 400, "invalid_argument" },     { -EBADMSG, 400, "invalid_argument" },
	{ -EFBIG, 400, "invalid_argument" },      { -ENOMEM, 429, "resource_exhausted" },
	{ -ENOSPC, 503, "unavailable" },          { -ENOSYS, 501, "unimplemented" },
	{ -ETIMEDOUT, 504, "deadline_exceeded" },
};

static const struct failure unknown = { 0, 500, "unknown" };

static void put_failure(struct http_response *rs, int r, const struct err *err)
{
	const struct failure *f = &unknown;
	struct json j;

	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
		if (failures[i].error == r)
			f = &failures[i];
	rs->status = f->status;
	rs->content_type = "application/json";
	rs->body.len = 0;
	j = json_to(&rs->body);
	json_object(&j);
	json_key(&j, "code");
	json_str(&j, f->code);
	json_key(&j, "message");
	json_str(&j, err->msg[0] ? err->msg : strerror(-r));
	json_object_end(&j);
}

static void put_text(struct http_response *rs, int status, const char *text)
{
	rs->status = status;
	rs->content_type = "text/plain; charset=utf-8";
	buf_put_str(&rs->body, text);
}

/* Undo the body's compression, if any. */
static int read_body(const struct http_request *rq, struct buf *room, struct rpc *out)
{
	const char *encoding = http_request_header(rq, "Content-Encoding");
	int r;

	out->body = http_request_body(rq, &out->len);
	if (!encoding || !strcmp(encoding, "identity") || !encoding[0])
		return 0;
	if (strcmp(encoding, "gzip") != 0)
		return err_set(out->err, -ENOSYS, "encoding %.40s is not taken", encoding);
	r = gzip_read(out->body, out->len, MAX_DECOMPRESSED, room, out->err);
	out->body = room->data;
	out->len = room->len;
	return r;
}

static void finish(struct server *s, struct rpc *rpc, int r)
{
	if (r == 0)
		return;
	atomic_fetch_add(&s->errors, 1);
	put_failure(rpc->rs, r, rpc->err);
}

static bool is_json(const char *type)
{
	return !strncasecmp(type, "application/json", 16) && (!type[16] || type[16] == ';');
}

/* A Connect unary call; @method follows the service's name in the path. */
static void serve_rpc(struct server *s, struct rpc *rpc, const char *method)
{
	const char *type = http_request_header(rpc->rq, "Content-Type");
	const char *version = http_request_header(rpc->rq, "Connect-Protocol-Version");
	_cleanup_(buf_fini) struct buf room = { 0 };
	int r;

	if (strcmp(http_request_method(rpc->rq), "POST") != 0) {
		rpc->rs->status = 405;
		return;
	}
	rpc->json = type && is_json(type);
	if (!type || (!rpc->json && strcmp(type, "application/proto") != 0)) {
		rpc->rs->status = 415;
		return;
	}
	rpc->rs->content_type = rpc->json ? "application/json" : "application/proto";
	r = version && strcmp(version, "1") != 0
		    ? err_set(rpc->err, -EINVAL, "Connect-Protocol-Version must be 1")
		    : read_body(rpc->rq, &room, rpc);
	if (r == 0)
		r = method ? querier_rpc(rpc, method) : push_rpc(rpc);
	finish(s, rpc, r);
}

static void serve_ingest(struct server *s, struct rpc *rpc)
{
	_cleanup_(buf_fini) struct buf room = { 0 };
	int r;

	if (strcmp(http_request_method(rpc->rq), "POST") != 0) {
		rpc->rs->status = 405;
		return;
	}
	r = read_body(rpc->rq, &room, rpc);
	if (r == 0)
		r = push_ingest(rpc);
	finish(s, rpc, r);
	if (r == -EBADMSG)
		rpc->rs->status = 422;
}

static void serve_metrics(struct server *s, struct http_response *rs)
{
	struct store_usage usage = { 0 };

	store_usage(s->store, &usage, NULL);
	rs->content_type = "text/plain; version=0.0.4";
	buf_printf(&rs->body,
		   "# TYPE cameo_push_requests_total counter\n"
		   "cameo_push_requests_total %" PRIu64 "\n"
		   "# TYPE cameo_query_requests_total counter\n"
		   "cameo_query_requests_total %" PRIu64 "\n"
		   "# TYPE cameo_refused_requests_total counter\n"
		   "cameo_refused_requests_total %" PRIu64 "\n"
		   "# TYPE cameo_store_bytes gauge\n"
		   "cameo_store_bytes %" PRIu64 "\n"
		   "# TYPE cameo_store_days gauge\n"
		   "cameo_store_days %" PRIu32 "\n",
		   (uint64_t)s->pushes, (uint64_t)s->queries, (uint64_t)s->errors, usage.bytes,
		   usage.n_days);
}

static void serve_build(struct http_response *rs)
{
	rs->content_type = "application/json";
	buf_put_str(&rs->body, "{\"status\":\"success\",\"data\":{\"version\":\"" CAMEO_VERSION
			       "\",\"revision\":\"\",\"branch\":\"\",\"buildUser\":\"\","
			       "\"buildDate\":\"\",\"goVersion\":\"\"}}");
}

static void on_request(void *ctx, const struct http_request *rq, struct http_response *rs)
{
	static const char querier[] = "/querier.v1.QuerierService/";
	struct server *s = ctx;
	struct err err = { 0 };
	struct rpc rpc = { .store = s->store, .tenant = TENANT, .rq = rq, .rs = rs, .err = &err };
	const char *path = http_request_path(rq);

	if (!strncmp(path, querier, sizeof(querier) - 1)) {
		atomic_fetch_add(&s->queries, 1);
		serve_rpc(s, &rpc, path + sizeof(querier) - 1);
	} else if (!strcmp(path, "/push.v1.PusherService/Push")) {
		atomic_fetch_add(&s->pushes, 1);
		serve_rpc(s, &rpc, NULL);
	} else if (!strcmp(path, "/ingest") || !strcmp(path, "/pyroscope/ingest")) {
		atomic_fetch_add(&s->pushes, 1);
		serve_ingest(s, &rpc);
	} else if (!strcmp(path, "/")) {
		page_serve(rq, rs);
	} else if (!strcmp(path, "/ready")) {
		put_text(rs, 200, "ready");
	} else if (!strcmp(path, "/metrics")) {
		serve_metrics(s, rs);
	} else if (!strcmp(path, "/api/v1/status/buildinfo")) {
		serve_build(rs);
	} else {
		put_text(rs, 404, "404 page not found\n");
	}
}

static void retain(struct server *s)
{
	struct err err = { 0 };
	int64_t now = (int64_t)clock_unix_ns();

	if (store_retain(s->store, s->opt.max_age_ns ? now - s->opt.max_age_ns : 0,
			 s->opt.max_bytes, now, &err) < 0 &&
	    s->opt.warn)
		s->opt.warn(s->opt.warn_ctx, err.msg);
}

static void *retainer_main(void *arg)
{
	struct server *s = arg;
	struct timespec until;

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		pthread_mutex_unlock(&s->lock);
		retain(s);
		pthread_mutex_lock(&s->lock);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += RETAIN_SECONDS;
		if (!s->stop)
			pthread_cond_timedwait(&s->wake, &s->lock, &until);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

void server_close(struct server *s)
{
	if (!s)
		return;
	http_server_close(s->http);
	if (s->retaining) {
		pthread_mutex_lock(&s->lock);
		s->stop = true;
		pthread_cond_signal(&s->wake);
		pthread_mutex_unlock(&s->lock);
		pthread_join(s->retainer, NULL);
	}
	store_close(s->store);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->wake);
	free(s);
}

int server_open(struct server **out, const struct server_options *opt, struct err *err)
{
	_cleanup_(server_closep) struct server *s = calloc(1, sizeof(*s));
	const struct store_options store = { .dir = opt->dir,
					     .warn = opt->warn,
					     .warn_ctx = opt->warn_ctx };
	const struct http_server_options http = { .host = opt->host,
						  .port = opt->port,
						  .n_workers = N_WORKERS,
						  .max_connections = MAX_CONNECTIONS,
						  .idle_seconds = IDLE_SECONDS,
						  .max_body = MAX_BODY,
						  .max_memory = MAX_BODIES,
						  .handler = on_request,
						  .ctx = s };
	int r;

	if (!s)
		return -ENOMEM;
	s->opt = *opt;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	r = store_open(&s->store, &store, err);
	if (r == 0)
		r = http_server_open(&s->http, &http, err);
	if (r < 0)
		return r;
	if (pthread_create(&s->retainer, NULL, retainer_main, s) != 0)
		return err_set(err, -EAGAIN, "can't start a thread");
	s->retaining = true;
	*out = steal_ptr(&s);
	return 0;
}

uint16_t server_port(const struct server *s)
{
	return http_server_port(s->http);
}
