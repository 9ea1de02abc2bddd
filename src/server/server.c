/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens and closes a server, and owns its threads: HTTP workers, and one thread that applies
 * retention and computes rollups.
 */
#include "server/server.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/thread.h"
#include "net/feed.h"
#include "net/http_server.h"
#include "server/access.h"
#include "server/admission.h"
#include "server/agents.h"
#include "server/counters.h"
#include "server/grpc.h"
#include "server/ingest_symbolizer.h"
#include "server/keys.h"
#include "server/latency.h"
#include "server/oidc.h"
#include "server/pools.h"
#include "server/query_results.h"
#include "server/quota.h"
#include "server/readiness.h"
#include "server/request_log.h"
#include "server/requests.h"
#include "server/rpc.h"
#include "server/server_state.h"
#include "server/tenant_limits.h"
#include "server/watcher.h"
#include "store/kinds/store_open.h"
#include "store/store.h"

#define ROLL_UP_AFTER_NS (60LL * CLOCK_SECOND_NS)
#define RETAIN_NS        (30ULL * CLOCK_SECOND_NS)

enum {
	MAX_CONNECTIONS = 16384,
	IDLE_SECONDS = 30,
	MAX_BODY = 64 << 20,
	MAX_BODIES = 128 << 20,
	BODIES_DIVISOR = 4, /* bodies may take this part of the memory budget */
	MAX_UNSENT = 64 << 20,
	MAX_RESPONSE = 128 << 20,
	CONNECTIONS_DIVISOR = 4, /* connections may take this part without requests */
	MIN_CONNECTIONS = 64,
	HEADERS_DIVISOR = 16, /* headers of requests over HTTP/2 */
	UNSENT_DIVISOR = 8,   /* responses that clients have not received */
	RESPONSE_DIVISOR = 4, /* one response, before it is compressed */
	SESSION_IDLE_MS = 12 * 3600 * 1000,
	SESSION_MAX_MS = 7 * 24 * 3600 * 1000,
	STORE_DIVISOR = 2,    /* the store may hold this part of the memory budget */
	RESULTS_DIVISOR = 32, /* responses to queries may take this part */
	MAX_RESULTS = 8 << 20,
};

/* Stores one message of the local agent: a status report in JSON, or an OTLP request. */
static void store_feed_request(struct server *s, const struct buf *body, struct feed_answer *a)
{
	struct err err = { 0 };
	struct rpc rpc = { .store = s->store,
			   .sink = s->store,
			   .agents = s->agents,
			   .opt = &s->opt,
			   .counters = &s->counters,
			   .results = s->results,
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

/* The time before which days are dropped for their age. */
static int oldest_allowed(struct server *s, int64_t now_ns, int64_t *out, struct err *err)
{
	int64_t day;
	bool held = s->retention.is_delayed;
	int r = s->opt.max_age_ns ? store_first_day(s->store, &day, err) : 0;

	if (r <= 0)
		return r;
	*out = retention_oldest(&s->retention, now_ns - s->opt.max_age_ns, day,
				clock_monotonic_ns());
	if (s->retention.is_delayed && !held && s->opt.warn)
		s->opt.warn(s->opt.warn_ctx,
			    "several days are older than --keep-days: the system's time may be "
			    "wrong, so one is deleted per hour");
	return 0;
}

/*
 * Retention precedes rollups, so that no sums are computed for days about to be dropped. Failures
 * are reported and retried in the next round.
 */
static void retain(struct server *s)
{
	struct err err = { 0 };
	int64_t now = (int64_t)clock_unix_ns();
	int64_t oldest = 0;
	int r = oldest_allowed(s, now, &oldest, &err);

	if (r == 0)
		r = store_retain(s->store, oldest, s->opt.max_bytes, now, &err);

	if (r != 0)
		query_results_changed(s->results, NULL, INT64_MIN, INT64_MAX);
	if (r < 0 && s->opt.warn)
		s->opt.warn(s->opt.warn_ctx, err.msg);
	err = (struct err){ 0 };
	if (store_roll_up(s->store, now - ROLL_UP_AFTER_NS, &err) < 0 && s->opt.warn)
		s->opt.warn(s->opt.warn_ctx, err.msg);
}

/* The first round runs at once, so a store that exceeds its limits is reduced at startup. */
static void *retainer_main(void *arg)
{
	struct server *s = arg;

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		pthread_mutex_unlock(&s->lock);
		retain(s);
		pthread_mutex_lock(&s->lock);
		if (!s->stop)
			thread_wait_until(&s->wake, &s->lock, clock_monotonic_ns() + RETAIN_NS);
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
	query_results_free(s->results);
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
	const bool is_named = strstr(err->msg, path) != NULL;
	char line[sizeof(err->msg) + 256];

	counters_add(&s->counters, result < 0 ? COUNTER_RELOAD_FAILED : COUNTER_RELOADED);
	if (!s->opt.warn)
		return;
	if (result < 0)
		snprintf(line, sizeof(line), "kept what was read before: %.*s%s%s",
			 is_named ? 0 : 200, path, is_named ? "" : ": ",
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

/* The limit of all responses together that clients have not received. */
static size_t max_unsent(const struct server_options *opt)
{
	size_t part = opt->max_memory / UNSENT_DIVISOR;

	return part && part < MAX_UNSENT ? part : MAX_UNSENT;
}

static size_t max_response(const struct server_options *opt)
{
	size_t part = opt->max_memory / RESPONSE_DIVISOR;

	return part && part < MAX_RESPONSE ? part : MAX_RESPONSE;
}

/* Returns for how many connections there is memory, whatever they do. */
static unsigned int max_connections(const struct server *s)
{
	size_t each = s->keys.cert.data ? HTTP_TLS_CONNECTION_BYTES : HTTP_CONNECTION_BYTES;
	size_t n = s->opt.max_memory / CONNECTIONS_DIVISOR / each;

	if (!s->opt.max_memory || n > MAX_CONNECTIONS)
		return MAX_CONNECTIONS;
	return n > MIN_CONNECTIONS ? (unsigned int)n : MIN_CONNECTIONS;
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
						  .max_connections = max_connections(s),
						  .max_headers =
							  s->opt.max_memory / HEADERS_DIVISOR,
						  .idle_seconds = IDLE_SECONDS,
						  .max_body = MAX_BODY,
						  .max_memory = max_bodies(&s->opt),
						  .max_unsent = max_unsent(&s->opt),
						  .tls_cert = (const char *)s->keys.cert.data,
						  .tls_key = (const char *)s->keys.key.data,
						  .tls_client_ca =
							  (const char *)s->keys.client_ca.data,
						  .handler = requests_answer,
						  .refused = requests_count_refusal,
						  .admit = requests_admit,
						  .begin = requests_begin,
						  .released = requests_release,
						  .unread = requests_unread,
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

static size_t max_results(const struct server_options *opt)
{
	return opt->max_memory ? opt->max_memory / RESULTS_DIVISOR : MAX_RESULTS;
}

static int start_retainer(struct server *s, struct err *err)
{
	int r = -pthread_create(&s->retainer, NULL, retainer_main, s);

	if (r < 0)
		return err_set(err, r, "cannot start the retention thread: %s", strerror(-r));
	s->retaining = true;
	return 0;
}

int server_open(struct server **out, const struct server_options *opt, struct err *err)
{
	_cleanup_(server_closep) struct server *s = calloc(1, sizeof(*s));
	const struct store_options store = { .dir = opt->dir,
					     .read_only = opt->read_only,
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
	s->max_response = max_response(&s->opt);
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
		r = query_results_new(&s->results, max_results(opt));
	if (r == 0)
		r = tenant_limits_new(&s->limits, &opt->tenant_limits);
	if (r == 0)
		r = open_http(s, err);
	if (r == 0)
		r = watcher_start(s->watcher);
	if (r == 0 && !opt->read_only)
		r = start_retainer(s, err);
	if (r < 0)
		return r;
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
