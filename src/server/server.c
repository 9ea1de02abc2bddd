/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which path is what, who may ask it, and the threads' lives.
 */
#include "server/server.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "net/feed.h"
#include "net/http_server.h"
#include "server/agents.h"
#include "server/connect.h"
#include "server/counters.h"
#include "server/grpc.h"
#include "server/memory.h"
#include "server/naming.h"
#include "server/quota.h"
#include "server/rpc.h"
#include "store/store.h"

#define TENANT       "anonymous"
#define SUM_AFTER_NS (60LL * CLOCK_SECOND_NS)

enum {
	N_WORKERS = 8,
	N_WAITING = 48, /* for another server, most of their time */
	MAX_CONNECTIONS = 16384,
	IDLE_SECONDS = 30,
	MAX_BODY = 64 << 20,
	MAX_BODIES = 128 << 20,
	MAX_PEM = 1 << 20,
	BODIES_PART = 4,        /* of all memory */
	QUERY_BYTES = 16 << 20, /* what a question may take, as a rule */
	PUSH_FACTOR = 8,
	RETAIN_SECONDS = 30,
};

struct server {
	struct server_options opt;
	struct store *store;
	struct naming *naming;
	struct agents *agents;
	struct quota *quota;
	struct http_server *http;
	struct auth *auth; /* NULL: anybody may ask */
	struct buf cert, key;
	struct counters counters;
	struct memory memory;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop, retaining;
	pthread_t retainer;
};

/* A path that ends in / is all below it: what is behind is the method. */
static const struct route {
	const char *path;
	void (*wrap)(struct rpc *rpc, rpc_fn run);
	rpc_fn run;
	enum counter counter; /* COUNTER_MAX: none, and no tenant is asked */
} routes[] = {
	{ "/querier.v1.QuerierService/", connect_call, querier_rpc, COUNTER_QUERIES },
	{ "/cameo.v1.PageService/", connect_call_json, view_rpc, COUNTER_QUERIES },
	{ "/push.v1.PusherService/Push", connect_call, push_rpc, COUNTER_PUSHES },
	{ "/ingest", connect_upload, push_ingest, COUNTER_PUSHES },
	{ "/pyroscope/ingest", connect_upload, push_ingest, COUNTER_PUSHES },
	{ "/v1development/profiles", connect_otlp, otlp_export, COUNTER_PUSHES },
	{ "/version.v1.Version/Version", connect_call, status_version, COUNTER_MAX },
	{ "/capabilities.v1.FeatureFlagsService/GetFeatureFlags", connect_call, status_features,
	  COUNTER_MAX },
	{ "/settings.v1.SettingsService/Get", connect_call, status_settings, COUNTER_MAX },
	{ "/pyroscope/render", connect_get, render_single, COUNTER_QUERIES },
	{ "/pyroscope/render-diff", connect_get, render_diff, COUNTER_QUERIES },
	{ "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export", grpc_call,
	  otlp_export, COUNTER_PUSHES },
	{ "/api/v1/agents", connect_resource, agents_resource, COUNTER_QUERIES },
	{ "/api/v1/profile", connect_get, download_profile, COUNTER_QUERIES },
	{ "/ready", connect_get, status_ready, COUNTER_MAX },
	{ "/metrics", connect_get, status_metrics, COUNTER_MAX },
	{ "/api/v1/status/buildinfo", connect_get, status_build, COUNTER_MAX },
	{ "/", connect_get, page_get, COUNTER_MAX },
};

/* Of "/" itself nothing is below. */
static bool is_on(const struct route *route, const char *path)
{
	size_t len = strlen(route->path);

	if (len > 1 && route->path[len - 1] == '/')
		return !strncmp(path, route->path, len);
	return !strcmp(path, route->path);
}

static const struct route *find_route(const char *path)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if (is_on(&routes[i], path))
			return &routes[i];
	return NULL;
}

/* A client's own tenant is the only one it has; else it says which, if there are any. */
static int choose_tenant(const struct server *s, struct rpc *rpc, const char *own)
{
	const char *said = http_request_header(rpc->rq, "X-Scope-OrgID");

	if (own && said && strcmp(own, said) != 0)
		return err_set(rpc->err, -EPERM, "this is another's tenant");
	if (own)
		rpc->tenant = own;
	else if (s->opt.tenants && !said)
		return err_set(rpc->err, -EACCES, "X-Scope-OrgID is missing");
	else if (s->opt.tenants && !store_tenant_valid(said))
		return err_set(rpc->err, -EINVAL, "X-Scope-OrgID is no name for a tenant");
	else if (s->opt.tenants)
		rpc->tenant = said;
	return 0;
}

/* Whether somebody is there may be asked by anybody. */
static int admit(const struct server *s, const struct route *route, struct rpc *rpc)
{
	const char *own = NULL;

	if (s->auth && route->run != status_ready &&
	    !auth_check(s->auth, http_request_header(rpc->rq, "Authorization"), &own)) {
		http_response_add(rpc->rs, "WWW-Authenticate", "Basic realm=\"cameo\"");
		return err_set(rpc->err, -EACCES, "a token or a password is needed");
	}
	return route->counter == COUNTER_MAX ? 0 : choose_tenant(s, rpc, own);
}

/* What a request may take: a body becomes a profile of several times its size. */
static size_t appetite(const struct route *route, const struct http_request *rq)
{
	size_t len;

	http_request_body(rq, &len);
	if (route->counter == COUNTER_QUERIES)
		return QUERY_BYTES;
	return route->counter == COUNTER_PUSHES ? PUSH_FACTOR * len : 0;
}

/* Run it if there is memory for it. What takes none is always answered: who watches must see. */
static int serve(struct server *s, const struct route *route, struct rpc *rpc)
{
	size_t want = appetite(route, rpc->rq);

	if (want && !memory_take(&s->memory, want))
		return err_set(rpc->err, -ENOMEM, "too much is under way, ask again later");
	route->wrap(rpc, route->run);
	memory_give(&s->memory, want);
	return 0;
}

/* Refused before anybody looked at it. */
static void on_refused(void *ctx, int status)
{
	struct server *s = ctx;

	counters_add(&s->counters, COUNTER_REFUSED);
	if (status == 413)
		counters_add(&s->counters, COUNTER_LIMIT_BODY);
	if (status == 429)
		counters_add(&s->counters, COUNTER_LIMIT_MEMORY);
}

static void on_request(void *ctx, const struct http_request *rq, struct http_response *rs)
{
	const char *path = http_request_path(rq);
	const struct route *route = find_route(path);
	struct server *s = ctx;
	struct err err = { 0 };
	struct rpc rpc = { .store = s->store,
			   .agents = s->agents,
			   .quota = s->quota,
			   .naming = s->naming,
			   .opt = &s->opt,
			   .counters = &s->counters,
			   .tenant = TENANT,
			   .rq = rq,
			   .rs = rs,
			   .err = &err };
	int r;

	http_response_add(rs, "Server", "cameo/" CAMEO_VERSION);
	if (!route) {
		rs->status = 404;
		rs->content_type = "text/plain; charset=utf-8";
		buf_put_str(&rs->body, "404 page not found\n");
		return;
	}
	if (route->counter != COUNTER_MAX)
		counters_add(&s->counters, route->counter);
	rpc.method = path + strlen(route->path);
	r = admit(s, route, &rpc);
	if (r == 0)
		r = serve(s, route, &rpc);
	if (r < 0 && grpc_is(&rpc))
		grpc_refuse(&rpc, r);
	else if (r < 0)
		connect_refuse(&rpc, r);
	connect_compress(&rpc);
}

static void store_fed(struct server *s, const struct buf *body, struct feed_answer *a)
{
	struct err err = { 0 };
	struct rpc rpc = { .store = s->store,
			   .agents = s->agents,
			   .opt = &s->opt,
			   .counters = &s->counters,
			   .tenant = TENANT,
			   .body = body->data,
			   .len = body->len,
			   .err = &err };

	if (body->len && body->data[0] == '{') {
		a->status = agents_report(&rpc);
	} else {
		counters_add(&s->counters, COUNTER_PUSHES);
		a->status = otlp_own(&rpc);
	}
	snprintf(a->text, sizeof(a->text), "%s", err.msg);
}

int server_feed(struct server *s, int fd)
{
	_cleanup_(buf_fini) struct buf body = { 0 };
	int r;

	while ((r = feed_next(fd, &body)) == 0) {
		struct feed_answer a = { 0 };

		store_fed(s, &body, &a);
		r = feed_answer(fd, &a);
		if (r < 0)
			break;
	}
	return r == -EPIPE ? 0 : r;
}

static void retain(struct server *s)
{
	struct err err = { 0 };
	int64_t now = (int64_t)clock_unix_ns();

	if (store_retain(s->store, s->opt.max_age_ns ? now - s->opt.max_age_ns : 0,
			 s->opt.max_bytes, now, &err) < 0 &&
	    s->opt.warn)
		s->opt.warn(s->opt.warn_ctx, err.msg);
	err = (struct err){ 0 };
	if (store_sum_up(s->store, now - SUM_AFTER_NS, &err) < 0 && s->opt.warn)
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
	naming_free(s->naming);
	agents_free(s->agents);
	quota_free(s->quota);
	auth_free(s->auth);
	buf_fini(&s->cert);
	buf_fini(&s->key);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->wake);
	free(s);
}

/* With its end, as the TLS library wants it. */
static int read_pem(const char *path, struct buf *out, struct err *err)
{
	_cleanup_(fclosep) FILE *f = fopen(path, "re");
	char part[4096];
	size_t n;

	if (!f)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	while ((n = fread(part, 1, sizeof(part), f)) > 0 && out->len < MAX_PEM)
		buf_put(out, part, n);
	buf_put_byte(out, 0);
	return buf_error(out);
}

static int read_secrets(struct server *s, struct err *err)
{
	const struct server_options *opt = &s->opt;
	int r = 0;

	if (opt->auth.token_file || opt->auth.basic_file)
		r = auth_load(&s->auth, &opt->auth, err);
	if (r == 0 && !opt->cert_file != !opt->key_file)
		return err_set(err, -EINVAL, "TLS needs a certificate and its key");
	if (r == 0 && opt->cert_file)
		r = read_pem(opt->cert_file, &s->cert, err);
	if (r == 0 && opt->key_file)
		r = read_pem(opt->key_file, &s->key, err);
	return r;
}

/* Bodies alone leave room for what becomes of them. */
static size_t max_bodies(const struct server_options *opt)
{
	size_t part = opt->max_memory / BODIES_PART;

	return part && part < MAX_BODIES ? part : MAX_BODIES;
}

static int open_http(struct server *s, struct err *err)
{
	const struct http_server_options http = { .host = s->opt.host,
						  .port = s->opt.port,
						  .grpc_host = s->opt.otlp_host,
						  .grpc_port = s->opt.otlp_port,
						  .n_workers =
							  s->opt.store_url ? N_WAITING : N_WORKERS,
						  .max_connections = MAX_CONNECTIONS,
						  .idle_seconds = IDLE_SECONDS,
						  .max_body = MAX_BODY,
						  .max_memory = max_bodies(&s->opt),
						  .tls_cert = (const char *)s->cert.data,
						  .tls_key = (const char *)s->key.data,
						  .handler = on_request,
						  .refused = on_refused,
						  .ctx = s };

	return http_server_open(&s->http, &http, err);
}

int server_open(struct server **out, const struct server_options *opt, struct err *err)
{
	_cleanup_(server_closep) struct server *s = calloc(1, sizeof(*s));
	const struct store_options store = { .dir = opt->dir,
					     .url = opt->store_url,
					     .keep_ns = opt->max_age_ns,
					     .warn = opt->warn,
					     .warn_ctx = opt->warn_ctx };
	int r;

	if (!s)
		return -ENOMEM;
	s->opt = *opt;
	s->memory.limit = opt->max_memory;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	r = read_secrets(s, err);
	if (r == 0)
		r = store_open(&s->store, &store, err);
	if (r == 0)
		r = naming_new(&s->naming, &opt->naming);
	if (r == 0)
		r = agents_new(&s->agents);
	if (r == 0)
		r = quota_new(&s->quota, opt->max_series);
	if (r == 0)
		r = open_http(s, err);
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

uint16_t server_otlp_port(const struct server *s)
{
	return http_server_grpc_port(s->http);
}
