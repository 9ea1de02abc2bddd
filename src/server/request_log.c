/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request_log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/utc.h"
#include "net/http_server.h"
#include "server/admission.h"
#include "server/api.h"
#include "server/counters.h"
#include "server/log_writer.h"
#include "server/rpc.h"

enum { MAX_TEXT = 512 };

struct request_log {
	struct log_writer *writer;
	bool json;
};

/* A line in one of the two forms. */
struct line {
	struct buf *out;
	bool json;
	struct json j;
};

static void put_text(struct line *l, const char *key, const char *text)
{
	size_t n = strnlen(text, MAX_TEXT);

	if (l->json) {
		json_key(&l->j, key);
		json_strn(&l->j, text, n);
		return;
	}
	buf_printf(l->out, "%s%s=", l->out->len ? " " : "", key);
	if (n && strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._/:"
			      "@+") == strlen(text)) {
		buf_put(l->out, text, n);
	} else {
		struct json j = json_to(l->out);

		json_strn(&j, text, n);
	}
}

static void put_uint(struct line *l, const char *key, uint64_t v)
{
	if (l->json)
		json_member_uint(&l->j, key, v);
	else
		buf_printf(l->out, "%s%s=%" PRIu64, l->out->len ? " " : "", key, v);
}

static void put_seconds(struct line *l, const char *key, int64_t ns)
{
	double s = (double)ns / CLOCK_SECOND_NS;

	if (l->json)
		json_member_double(&l->j, key, s);
	else
		buf_printf(l->out, "%s%s=%.6f", l->out->len ? " " : "", key, s);
}

static void put_time(struct line *l)
{
	uint64_t now = clock_unix_ns();
	char text[64], second[UTC_TEXT_LEN];

	utc_text((int64_t)now, second);
	second[strlen(second) - 1] = '\0';
	snprintf(text, sizeof(text), "%s.%03uZ", second,
		 (unsigned int)(now % CLOCK_SECOND_NS / CLOCK_MS_NS));
	put_text(l, "time", text);
}

static void put_peer(struct line *l, const struct http_peer *peer)
{
	const struct sockaddr_in6 *v6 = (const void *)&peer->addr;
	const struct sockaddr_in *v4 = (const void *)&peer->addr;
	char text[INET6_ADDRSTRLEN] = "-";

	if (peer->addr.ss_family == AF_INET)
		inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
	else if (peer->addr.ss_family == AF_INET6)
		inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
	put_text(l, "peer", text);
}

static void put_request(struct line *l, const struct http_request *rq, int status,
			const struct http_response *rs, const struct rpc *rpc, int64_t ns)
{
	size_t len;

	http_request_body(rq, &len);
	put_time(l);
	put_peer(l, http_request_peer(rq));
	put_text(l, "method", http_request_method(rq));
	put_text(l, "path", http_request_path(rq));
	put_uint(l, "status", (uint64_t)status);
	put_seconds(l, "seconds", ns);
	put_uint(l, "bytes_in", len);
	put_uint(l, "bytes_out", rs ? rs->body.len : 0);
	if (rs && rs->n_trailers && !strcmp(rs->trailers[0].name, "grpc-status"))
		put_text(l, "grpc_status", rs->trailers[0].value);
	if (rpc && rpc->client.name[0])
		put_text(l, "client", rpc->client.name);
	if (rpc && admission_has_tenant(rpc->api->access))
		put_text(l, "tenant", rpc->tenant);
}

void request_log_add(struct request_log *log, const struct http_request *rq, int status,
		     const struct http_response *rs, const struct rpc *rpc, int64_t ns)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	struct line l = { .out = &text, .json = log->json, .j = json_to(&text) };

	if (l.json)
		json_object(&l.j);
	put_request(&l, rq, status, rs, rpc, ns);
	if (l.json)
		json_object_end(&l.j);
	buf_put_byte(&text, '\n');
	if (buf_error(&text))
		return;
	log_writer_put(log->writer, text.data, text.len);
}

void request_log_describe(const struct rpc *rpc, int64_t ns, struct buf *out)
{
	struct line l = { .out = out };

	put_text(&l, "slow_query", rpc->api->path);
	put_seconds(&l, "seconds", ns);
	put_text(&l, "tenant", rpc->tenant);
	if (rpc->client.name[0])
		put_text(&l, "client", rpc->client.name);
	put_text(&l, "question", rpc->question);
	put_uint(&l, "series", rpc->read.n_series);
	put_uint(&l, "profiles", rpc->read.n_windows);
	put_uint(&l, "nodes", rpc->read.n_nodes);
	put_uint(&l, "samples", rpc->read.n_samples);
}

int request_log_open(struct request_log **out, const struct request_log_options *opt,
		     struct err *err)
{
	struct request_log *log = calloc(1, sizeof(*log));
	int r;

	if (!log)
		return -ENOMEM;
	log->json = opt->json;
	r = log_writer_open(&log->writer, opt->path, &opt->counters->v[COUNTER_LOG_LOST], err);
	if (r < 0) {
		free(log);
		return r;
	}
	*out = log;
	return 0;
}

void request_log_close(struct request_log *log)
{
	if (!log)
		return;
	log_writer_close(log->writer);
	free(log);
}
