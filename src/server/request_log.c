/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request_log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/utc.h"
#include "net/http_server.h"
#include "server/admission.h"
#include "server/api.h"
#include "server/rpc.h"

enum { MAX_TEXT = 512 };

struct request_log {
	const char *path;
	bool json;
	pthread_mutex_t lock; /* guards the members below */
	int fd;
	int64_t looked_ms;
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

/* Opens the file again where the path leads to another one; once a second is enough. */
static void follow(struct request_log *log)
{
	int64_t now = clock_monotonic_ms();
	struct stat mine, there;
	int fd;

	if (log->fd == STDOUT_FILENO || now - log->looked_ms < 1000)
		return;
	log->looked_ms = now;
	if (fstat(log->fd, &mine) == 0 && stat(log->path, &there) == 0 &&
	    mine.st_ino == there.st_ino && mine.st_dev == there.st_dev)
		return;
	fd = open(log->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
	if (fd >= 0) {
		close(log->fd);
		log->fd = fd;
	}
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
	pthread_mutex_lock(&log->lock);
	follow(log);
	while (write(log->fd, text.data, text.len) < 0 && errno == EINTR)
		;
	pthread_mutex_unlock(&log->lock);
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

	if (!log)
		return -ENOMEM;
	log->path = opt->path;
	log->json = opt->json;
	log->fd = !strcmp(opt->path, "-")
			  ? STDOUT_FILENO
			  : open(opt->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
	if (log->fd < 0) {
		int r = err_set(err, -errno, "cannot open \"%s\": %s", opt->path, strerror(errno));

		free(log);
		return r;
	}
	pthread_mutex_init(&log->lock, NULL);
	*out = log;
	return 0;
}

void request_log_close(struct request_log *log)
{
	if (!log)
		return;
	if (log->fd != STDOUT_FILENO)
		close(log->fd);
	pthread_mutex_destroy(&log->lock);
	free(log);
}
