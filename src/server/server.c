/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatches requests to API methods (api.h) and owns the threads: HTTP workers, and one thread
 * that applies retention and computes rollups.
 *
 * Admission in this order: the HTTP server bounds connections and bodies; the client is
 * authenticated; the request waits in the queue of its pool (pools.h); memory is reserved by an
 * estimate; the framing decodes. The cost of a request is
 * unknown before it is decoded, so the factors are generous: a body is charged eight times its
 * length, since a pprof decompresses and is interned next to it.
 */
#include "server/server.h"
#include "server/server_options.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "net/feed.h"
#include "net/http_server.h"
#include "server/access.h"
#include "server/admission.h"
#include "server/agents.h"
#include "server/api.h"
#include "server/connect.h"
#include "server/counters.h"
#include "server/grpc.h"
#include "server/ingest_symbolizer.h"
#include "server/keys.h"
#include "server/latency.h"
#include "server/memory_budget.h"
#include "server/oidc.h"
#include "server/pools.h"
#include "server/quota.h"
#include "server/readiness.h"
#include "server/request_log.h"
#include "server/rpc.h"
#include "server/tenant_limits.h"
#include "server/watcher.h"
#include "store/kinds/store_open.h"
#include "store/store.h"

#define ROLL_UP_AFTER_NS (60LL * CLOCK_SECOND_NS)

enum {
	MAX_CONNECTIONS = 16384,
	IDLE_SECONDS = 30,
	MAX_BODY = 64 << 20,
	MAX_OPEN_BODY = 4096, /* of a request without credentials */
	MAX_BODIES = 128 << 20,
	BODIES_DIVISOR = 4,     /* bodies may take this part of the memory budget */
	QUERY_BYTES = 16 << 20, /* estimate for one query */
	LOOKUP_BYTES = 4 << 20, /* estimate for a request that reads labels only */
	PUSH_FACTOR = 8,        /* estimate: memory of a profile by bytes of its body */
	RETAIN_SECONDS = 30,
	SHRINK_MS = 1000,
	SESSION_IDLE_MS = 12 * 3600 * 1000,
	SESSION_MAX_MS = 7 * 24 * 3600 * 1000,
	STORE_DIVISOR = 2, /* the store may hold this part of the memory budget */
};

struct server {
	struct server_options opt;
	struct store *store;
	struct ingest_symbolizer *symbolizer;
	struct agents *agents;
	struct quota *quota;
	struct tenant_limits *limits;
	_Atomic int64_t shrunk_ms;
	struct readiness readiness;
	struct http_server *_Atomic http;
	struct access *access; /* NULL: no authentication */
	struct oidc *oidc;     /* NULL: no tokens of an issuer */
	struct admission admission;
	struct watcher *watcher;
	struct latency *latency;
	struct request_log *log; /* NULL: no access log */
	struct keys keys;
	struct counters counters;
	struct memory_budget memory;
	uint64_t seed; /* of the hashes of tenants */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop, retaining;
	pthread_t retainer;
};

/* Estimates the memory of a request. A body becomes a profile of several times its size. */
static size_t memory_needed(const struct api_method *m, const struct http_request *rq)
{
	size_t len;

	if (m->cost == API_QUERY || m->cost == API_LOOKUP)
		return m->cost == API_QUERY ? QUERY_BYTES : LOOKUP_BYTES;
	http_request_body(rq, &len);
	return m->cost == API_PUSH ? PUSH_FACTOR * len : 0;
}

/* Before a request is refused, the store frees what it can read again, at most once a second. */
static bool reserve(struct server *s, size_t bytes)
{
	int64_t now = clock_monotonic_ms(), last = atomic_load(&s->shrunk_ms);

	if (memory_budget_reserve(&s->memory, bytes))
		return true;
	if (now - last < SHRINK_MS || !atomic_compare_exchange_strong(&s->shrunk_ms, &last, now))
		return false;
	store_shrink(s->store);
	return memory_budget_reserve(&s->memory, bytes);
}

/* False if the request was in another pool before, where it was counted and charged. */
static bool api_is_first(const struct rpc *rpc)
{
	return http_request_pool(rpc->rq) != POOL_SYMBOLIZE;
}

static int charge_bytes(struct rpc *rpc)
{
	size_t len;

	http_request_body(rpc->rq, &len);
	return tenant_limits_charge(rpc->limits, rpc->tenant, TENANT_BYTES, len, rpc->err);
}

/*
 * Runs the method if the memory budget allows. Free methods always run: monitoring depends on them.
 */
static int serve(struct server *s, struct rpc *rpc)
{
	size_t bytes = memory_needed(rpc->api, rpc->rq);
	int r = 0;

	if (bytes && !reserve(s, bytes))
		return err_set(rpc->err, -ENOMEM,
			       "the memory budget of the server is exhausted; retry later");
	if (api_is_first(rpc) && rpc->api->cost == API_PUSH)
		r = charge_bytes(rpc);
	if (r == 0)
		rpc->api->framing(rpc, rpc->api->run);
	memory_budget_release(&s->memory, bytes);
	return r;
}

/* The cause of a refusal that the HTTP server made, or that was made by the headers. */
static enum refusal cause_of(enum http_refusal why, int status)
{
	static const struct {
		int status;
		enum refusal cause;
	} all[] = { { 401, REFUSAL_CREDENTIALS },
		    { 413, REFUSAL_BODY },
		    { 421, REFUSAL_HOST },
		    { 429, REFUSAL_OVERLOAD },
		    { 503, REFUSAL_STOPPING } };

	if (why == HTTP_REFUSED_QUEUE)
		return REFUSAL_OVERLOAD;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].status == status)
			return all[i].cause;
	return REFUSAL_FRAMING;
}

/*
 * Counts a request that the HTTP server refused by itself, or by its headers. The admission has
 * counted the cause of what only it knows.
 */
static void on_refused(void *ctx, const struct http_request *rq, enum http_refusal why, int status)
{
	static const enum counter counters[] = {
		[HTTP_REFUSED_REQUEST] = COUNTER_REFUSED,
		[HTTP_REFUSED_BODY] = COUNTER_LIMIT_BODY,
		[HTTP_REFUSED_MEMORY] = COUNTER_LIMIT_MEMORY,
		[HTTP_REFUSED_QUEUE] = COUNTER_LIMIT_QUEUE,
		[HTTP_REFUSED_STOP] = COUNTER_REFUSED,
		[HTTP_REFUSED_GONE] = COUNTER_ABANDONED,
	};
	struct server *s = ctx;

	counters_add(&s->counters, COUNTER_REFUSED);
	if (status != 403 && why != HTTP_REFUSED_GONE)
		counters_refuse(&s->counters, cause_of(why, status));
	if (counters[why] != COUNTER_REFUSED)
		counters_add(&s->counters, counters[why]);
	if (s->log)
		request_log_add(s->log, rq, status, NULL, NULL, 0);
}

/* The tenant of a request whose headers alone are known. @own is that of the client, or NULL. */
static const char *tenant_of(const struct server *s, const struct http_request *rq, const char *own)
{
	const char *requested = http_request_header(rq, "X-Scope-OrgID");

	if (own || !s->opt.tenants)
		return own ? own : ADMISSION_TENANT;
	/* one that is missing or invalid is refused when the request is complete */
	return requested && store_tenant_valid(requested) ? requested : ADMISSION_TENANT;
}

static void refuse_headers(struct http_admission *out, int status, const char *message)
{
	out->status = status;
	out->message = message;
}

/*
 * Applies the limits of a tenant, before memory is spent on a body. Requests of a tenant are one
 * flow, so each tenant has its turn in a queue.
 */
static void admit_tenant(struct server *s, const struct api_method *api, const char *tenant,
			 struct http_admission *out)
{
	out->flow = XXH3_64bits_withSeed(tenant, strlen(tenant), s->seed);
	if (api->cost == API_PUSH) {
		out->retry_s = tenant_limits_wait_s(s->limits, tenant);
		if (out->retry_s) {
			counters_add(&s->counters, COUNTER_LIMIT_RATE);
			refuse_headers(out, 429, "the tenant pushes more than its rate allows");
		}
	} else if (api->cost == API_QUERY) {
		out->token = tenant_limits_begin_query(s->limits, tenant);
		if (!out->token) {
			out->retry_s = 1;
			counters_add(&s->counters, COUNTER_LIMIT_QUERIES);
			refuse_headers(out, 429, "the tenant has too many queries at once");
		}
	}
}

static void on_released(void *ctx, void *token)
{
	struct server *s = ctx;

	tenant_limits_end_query(s->limits, token);
}

/* The form to sign in is returned by GET, which verifies nothing. */
static enum pool pool_for(const struct api_method *api, const struct http_request *rq)
{
	bool verifies = api && api->cost == API_VERIFY && !strcmp(http_request_method(rq), "POST");

	return !api || (api->cost == API_VERIFY && !verifies) ? POOL_FREE : pool_of(api->cost);
}

/* Clients that are not known yet have their turns by address. */
static void verify_later(struct server *s, const struct http_request *rq,
			 struct http_admission *out)
{
	*out = (struct http_admission){ .later = true,
					.pool = POOL_VERIFY,
					.flow = access_flow(s->access, http_request_peer(rq)),
					.no_challenge = out->no_challenge };
}

/* Refuses what headers suffice to refuse, and chooses the pool of other requests. */
static void on_headers(void *ctx, const struct http_request *rq, bool may_block,
		       struct http_admission *out)
{
	const struct api_method *api = api_find(api_lists, http_request_path(rq));
	struct client client = { 0 };
	struct server *s = ctx;

	out->pool = pool_for(api, rq);
	out->no_challenge = admission_is_browser(rq);
	out->no_body = !api_reads_body(api) || admission_is_preflight(rq);
	out->max_body = api && api->access == API_OPEN ? MAX_OPEN_BODY : 0;
	if (out->pool == POOL_VERIFY && s->access)
		out->flow = access_flow(s->access, http_request_peer(rq));
	out->status =
		admission_by_headers(&s->admission, api, rq, may_block, &client, &out->message);
	if (out->status == -EINPROGRESS) {
		verify_later(s, rq, out);
		return;
	}
	if (out->status == 429)
		out->retry_s = 1;
	if (!out->status && api && api->cost != API_VERIFY && !admission_is_preflight(rq))
		admit_tenant(s, api, tenant_of(s, rq, client.tenant[0] ? client.tenant : NULL),
			     out);
}

/* Refuses a request before its framing was run, in the protocol of that framing. */
static void refuse(struct rpc *rpc, int r)
{
	if (grpc_is(rpc))
		grpc_refuse(rpc, r);
	else if (rpc->api->framing == connect_otlp)
		connect_refuse_otlp(rpc, r);
	else
		connect_refuse(rpc, r);
}

/* Reports the time that a request took, to histograms and logs. */
static void observe(struct server *s, const struct rpc *rpc)
{
	int64_t ns = (int64_t)clock_monotonic_ns() - http_request_complete_ns(rpc->rq);
	enum latency_class class = LATENCY_NONE;

	if (admission_has_tenant(rpc->api->access))
		class = strcmp(rpc->tenant, ADMISSION_TENANT) != 0 ? LATENCY_NAMED
								   : LATENCY_DEFAULT;
	latency_add(s->latency, rpc->api, class, ns);
	if (s->log)
		request_log_add(s->log, rpc->rq, rpc->rs->status, rpc->rs, rpc, ns);
	if (s->opt.slow_query_ns && ns >= s->opt.slow_query_ns && rpc->question[0] && s->opt.warn) {
		_cleanup_(buf_fini) struct buf line = { 0 };

		request_log_describe(rpc, ns, &line);
		buf_put_byte(&line, 0);
		if (!buf_error(&line))
			s->opt.warn(s->opt.warn_ctx, (const char *)line.data);
	}
}

/* There is no method for the path. */
static void refuse_path(struct server *s, const struct http_request *rq, struct http_response *rs)
{
	counters_add(&s->counters, COUNTER_REFUSED);
	counters_refuse(&s->counters, REFUSAL_PATH);
	rs->status = 404;
	rs->content_type = "text/plain; charset=utf-8";
	buf_put_str(&rs->body, "404 page not found\n");
	if (s->log)
		request_log_add(s->log, rq, rs->status, rs, NULL, 0);
}

static void count_request(struct server *s, enum api_cost cost)
{
	if (cost == API_PUSH)
		counters_add(&s->counters, COUNTER_PUSHES);
	else if (cost == API_QUERY || cost == API_LOOKUP)
		counters_add(&s->counters, COUNTER_QUERIES);
}

/*
 * Answers one request in a worker thread: finds the method, admits the client, runs it and
 * compresses the response.
 */
static void on_request(void *ctx, const struct http_request *rq, struct http_response *rs)
{
	const struct api_method *api = api_find(api_lists, http_request_path(rq));
	struct server *s = ctx;
	struct err err = { 0 };
	struct rpc rpc = { .store = s->store,
			   .access = s->access,
			   .agents = s->agents,
			   .quota = s->quota,
			   .limits = s->limits,
			   .readiness = &s->readiness,
			   .symbolizer = s->symbolizer,
			   .opt = &s->opt,
			   .counters = &s->counters,
			   .latency = s->latency,
			   .tenant = ADMISSION_TENANT,
			   .http = &s->http,
			   .api = api,
			   .rq = rq,
			   .rs = rs,
			   .err = &err };
	int r;

	http_response_add(rs, "Server", "cameo/" CAMEO_VERSION);
	http_response_add(rs, "X-Content-Type-Options", "nosniff");
	if (admission_allow_origin(&s->admission, rq, rs))
		return;
	if (!api) {
		refuse_path(s, rq, rs);
		return;
	}
	if (api_is_first(&rpc))
		count_request(s, api->cost);
	r = admission_decide(&s->admission, &rpc);
	if (r == 0)
		r = serve(s, &rpc);
	if (r < 0)
		refuse(&rpc, r);
	if (http_request_is_moving(rq))
		return;
	connect_compress(&rpc);
	observe(s, &rpc);
}

/* Stores one message of the local agent: a status report in JSON, or an OTLP request. */
static void store_feed_request(struct server *s, const struct buf *body, struct feed_answer *a)
{
	struct err err = { 0 };
	struct rpc rpc = { .store = s->store,
			   .sink = s->store,
			   .agents = s->agents,
			   .opt = &s->opt,
			   .counters = &s->counters,
			   .tenant = ADMISSION_TENANT,
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

		store_feed_request(s, &body, &a);
		r = feed_answer(fd, &a);
		if (r < 0)
			break;
	}
	return r == -EPIPE ? 0 : r;
}

/*
 * Retention precedes rollups, so that no sums are computed for days about to be dropped. Failures
 * are reported and retried in the next round.
 */
static void retain(struct server *s)
{
	struct err err = { 0 };
	int64_t now = (int64_t)clock_unix_ns();

	if (store_retain(s->store, s->opt.max_age_ns ? now - s->opt.max_age_ns : 0,
			 s->opt.max_bytes, now, &err) < 0 &&
	    s->opt.warn)
		s->opt.warn(s->opt.warn_ctx, err.msg);
	err = (struct err){ 0 };
	if (store_roll_up(s->store, now - ROLL_UP_AFTER_NS, &err) < 0 && s->opt.warn)
		s->opt.warn(s->opt.warn_ctx, err.msg);
}

/* The first round runs at once, so a store that exceeds its limits is reduced at startup. */
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

/* The HTTP server goes first: its workers use everything else. */
void server_close(struct server *s)
{
	if (!s)
		return;
	watcher_free(s->watcher); /* it may replace the certificates of the HTTP server */
	if (s->symbolizer)
		ingest_symbolizer_stop(s->symbolizer);
	http_server_close(s->http);
	if (s->retaining) {
		pthread_mutex_lock(&s->lock);
		s->stop = true;
		pthread_cond_signal(&s->wake);
		pthread_mutex_unlock(&s->lock);
		pthread_join(s->retainer, NULL);
	}
	store_close(s->store);
	ingest_symbolizer_free(s->symbolizer);
	agents_free(s->agents);
	quota_free(s->quota);
	tenant_limits_free(s->limits);
	readiness_fini(&s->readiness);
	access_free(s->access);
	oidc_close(s->oidc);
	latency_free(s->latency);
	request_log_close(s->log);
	keys_fini(&s->keys);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->wake);
	free(s);
}

static int reload_access(void *ctx, struct err *err)
{
	struct server *s = ctx;

	return access_reload(s->access, err);
}

static void warn_of_plain(const struct server *s, size_t n)
{
	char line[128];

	snprintf(line, sizeof(line),
		 "%zu secret%s in plain text: use hashes (cameo server --hash-secret)", n,
		 n == 1 ? "" : "s");
	if (s->opt.warn)
		s->opt.warn(s->opt.warn_ctx, line);
}

static int64_t ms_of(int64_t ns, int64_t preset)
{
	return ns ? ns / CLOCK_MS_NS : preset;
}

/* The watcher looks at the files before they are read, so no change is missed. */
static int open_access(struct server *s, struct err *err)
{
	const struct auth_options *opt = &s->opt.auth;
	const struct access_options access = {
		.auth = *opt,
		.session_idle_ms = ms_of(s->opt.session_idle_ns, SESSION_IDLE_MS),
		.session_max_ms = ms_of(s->opt.session_max_ns, SESSION_MAX_MS)
	};
	int r = watcher_add(s->watcher, opt->token_file, reload_access, s);

	if (r == 0)
		r = watcher_add(s->watcher, opt->basic_file, reload_access, s);
	if (r == 0)
		r = watcher_add(s->watcher, opt->subject_file, reload_access, s);
	if (r == 0)
		r = access_open(&s->access, &access, err);
	if (r == 0 && access_n_plain(s->access))
		warn_of_plain(s, access_n_plain(s->access));
	return r;
}

static int reload_keys(void *ctx, struct err *err)
{
	struct server *s = ctx;
	struct keys k = { 0 };
	int r = keys_read(&k, &s->opt, err);

	if (r == 0)
		r = http_server_reload_tls(s->http, (const char *)k.cert.data,
					   (const char *)k.key.data, (const char *)k.client_ca.data,
					   err);
	keys_fini(&k);
	return r;
}

static int watch_keys(struct server *s)
{
	int r = watcher_add(s->watcher, s->opt.cert_file, reload_keys, s);

	if (r == 0)
		r = watcher_add(s->watcher, s->opt.key_file, reload_keys, s);
	return r < 0 ? r : watcher_add(s->watcher, s->opt.client_ca_file, reload_keys, s);
}

static void on_reload(void *ctx, const char *path, int result, const struct err *err)
{
	struct server *s = ctx;
	char line[sizeof(err->msg) + 64];

	counters_add(&s->counters, result < 0 ? COUNTER_RELOAD_FAILED : COUNTER_RELOADED);
	if (!s->opt.warn)
		return;
	if (result < 0)
		snprintf(line, sizeof(line), "kept the old file: %s",
			 err->msg[0] ? err->msg : strerror(-result));
	else
		snprintf(line, sizeof(line), "read \"%.200s\" again", path);
	s->opt.warn(s->opt.warn_ctx, line);
}

static int reload_issuer(void *ctx, struct err *err)
{
	struct server *s = ctx;

	return oidc_reload(s->oidc, err);
}

static int open_issuer(struct server *s, struct err *err)
{
	struct oidc_options opt = s->opt.oidc;
	int r;

	opt.report = on_reload;
	opt.ctx = s;
	r = opt.jwks && !strstr(opt.jwks, "://")
		    ? watcher_add(s->watcher, opt.jwks, reload_issuer, s)
		    : 0;
	if (r == 0)
		r = oidc_open(&s->oidc, &opt, err);
	if (r < 0)
		return r;
	access_add_issuer(s->access, s->oidc);
	return 0;
}

static int read_secrets(struct server *s, struct err *err)
{
	const struct server_options *opt = &s->opt;
	int r = watch_keys(s);

	if (r == 0)
		r = keys_read(&s->keys, opt, err);
	if (r == 0 && (opt->auth.token_file || opt->auth.basic_file || opt->client_ca_file ||
		       opt->oidc.rules.issuer))
		r = open_access(s, err);
	if (r == 0 && opt->oidc.rules.issuer)
		r = open_issuer(s, err);
	return r;
}

/* The limit of all bodies together, which leaves room for the profiles decoded from them. */
static size_t max_bodies(const struct server_options *opt)
{
	size_t part = opt->max_memory / BODIES_DIVISOR;

	return part && part < MAX_BODIES ? part : MAX_BODIES;
}

static int open_http(struct server *s, struct err *err)
{
	struct http_pool_options pools[POOL_MAX];
	struct http_server *opened = NULL;
	const struct http_server_options http = { .host = s->opt.host,
						  .port = s->opt.port,
						  .grpc_host = s->opt.otlp_host,
						  .grpc_port = s->opt.otlp_port,
						  .pools = pools,
						  .n_pools = POOL_MAX,
						  .max_connections = MAX_CONNECTIONS,
						  .idle_seconds = IDLE_SECONDS,
						  .max_body = MAX_BODY,
						  .max_memory = max_bodies(&s->opt),
						  .tls_cert = (const char *)s->keys.cert.data,
						  .tls_key = (const char *)s->keys.key.data,
						  .tls_client_ca =
							  (const char *)s->keys.client_ca.data,
						  .handler = on_request,
						  .refused = on_refused,
						  .admit = on_headers,
						  .released = on_released,
						  .ctx = s };

	int r;

	pools_options(pools, s->opt.store_url != NULL);
	r = http_server_open(&opened, &http, err);
	s->http = opened;
	return r;
}

static int open_observers(struct server *s, struct err *err)
{
	const struct request_log_options log = { s->opt.access_log, s->opt.access_log_json,
						 &s->counters };
	int r = latency_new(&s->latency);

	return r < 0 || !log.path ? r : request_log_open(&s->log, &log, err);
}

int server_open(struct server **out, const struct server_options *opt, struct err *err)
{
	_cleanup_(server_closep) struct server *s = calloc(1, sizeof(*s));
	const struct store_options store = { .dir = opt->dir,
					     .url = opt->store_url,
					     .keep_ns = opt->max_age_ns,
					     .max_memory = opt->max_memory / STORE_DIVISOR,
					     .warn = opt->warn,
					     .warn_ctx = opt->warn_ctx };
	int r;

	if (!s)
		return -ENOMEM;
	s->opt = *opt;
	s->opt.auth.any_subject = opt->client_ca_file && !opt->auth.subject_file;
	s->memory.limit = opt->max_memory;
	s->admission = (struct admission){ .opt = &s->opt, .counters = &s->counters };
	s->seed = hash_seed();
	readiness_init(&s->readiness);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	r = watcher_new(&s->watcher, on_reload, s);
	if (r == 0)
		r = read_secrets(s, err);
	s->admission.access = s->access;
	if (r == 0)
		r = open_observers(s, err);
	if (r == 0)
		r = store_open(&s->store, &store, err);
	if (r == 0)
		r = ingest_symbolizer_new(&s->symbolizer, &opt->symbolizer);
	if (r == 0)
		r = agents_new(&s->agents);
	if (r == 0)
		r = quota_new(&s->quota, opt->max_series);
	if (r == 0)
		r = tenant_limits_new(&s->limits, &opt->tenant_limits);
	if (r == 0)
		r = open_http(s, err);
	if (r == 0)
		r = watcher_start(s->watcher);
	if (r < 0)
		return r;
	r = -pthread_create(&s->retainer, NULL, retainer_main, s);
	if (r < 0)
		return err_set(err, r, "cannot start the retention thread: %s", strerror(-r));
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
