/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatches requests to API methods (api.h).
 *
 * Admission in this order: the HTTP server bounds connections and bodies; the client is
 * authenticated; the request waits in the queue of its pool (pools.h); memory is reserved by an
 * estimate; the framing decodes. The cost of a request is unknown before it is decoded, so the
 * factors are generous: a body is charged eight times its length, since a pprof decompresses and is
 * interned next to it. Decompressed data is charged too, before it is allocated, because
 * deflate may expand a thousand times. So are decoded fields, which may expand fifty times, and
 * profiles while they grow: a line of ten bytes may need three hundred. A query is charged what its
 * thread allocates (base/heap_claim.h), until its response is computed.
 */
#include "server/requests.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/heap_claim.h"
#include "net/http_server.h"
#include "server/access.h"
#include "server/admission.h"
#include "server/api.h"
#include "server/arguments.h"
#include "server/connect.h"
#include "server/counters.h"
#include "server/grpc.h"
#include "server/latency.h"
#include "server/memory_budget.h"
#include "server/pools.h"
#include "server/query_results.h"
#include "server/request_log.h"
#include "server/rpc.h"
#include "server/server_state.h"
#include "server/tenant_limits.h"
#include "store/store.h"

enum {
	MAX_OPEN_BODY = 4096,   /* of a request without credentials */
	QUERY_BYTES = 4 << 20,  /* for one query: its first step, and SQLite's pages */
	LOOKUP_BYTES = 2 << 20, /* the same for a request that reads labels only */
	PUSH_FACTOR = 8,        /* estimate: memory of a profile by bytes of its body */
	CLAIM_FACTOR = 3,       /* estimate: the same by bytes of expanded data */
	CLAIM_STEP = 1 << 20,
	QUERY_STEP = 2 << 20,
	SHRINK_MS = 1000,
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

/* The store frees what it can read again, at most once a second. False if it was too soon. */
static bool shrink(struct server *s)
{
	int64_t now = clock_monotonic_ms(), last = atomic_load(&s->shrunk_ms);

	if (now - last < SHRINK_MS || !atomic_compare_exchange_strong(&s->shrunk_ms, &last, now))
		return false;
	store_shrink(s->store);
	return true;
}

/* Reserves memory; if there is no room, the store is shrunk before the second attempt. */
static bool reserve(struct server *s, size_t bytes)
{
	return memory_budget_reserve(&s->memory, bytes) ||
	       (shrink(s) && memory_budget_reserve(&s->memory, bytes));
}

/* The share of the budget for the decompressed and decoded data of a request. */
struct claims {
	struct server *server;
	size_t bytes, reserved; /* claimed, and reserved for these and further ones */
	struct heap_claim heap; /* of a query: all that its thread allocates */
};

/* Reserves at least CLAIM_STEP at a time, because the resident memory is read for that. */
static bool reserve_share(struct claims *c, size_t bytes)
{
	size_t free_bytes = c->reserved - c->bytes, more = 0;

	if (bytes > free_bytes)
		more = bytes - free_bytes > CLAIM_STEP ? bytes - free_bytes : CLAIM_STEP;
	if (more && !reserve(c->server, more))
		return false;
	c->reserved += more;
	c->bytes += bytes;
	return true;
}

/*
 * A request that needs more than half of the budget is refused for good: it might never find room
 * next to the store's memory. Others are refused until there is room.
 */
static int claim_profile(void *ctx, size_t bytes, struct err *err)
{
	struct claims *c = ctx;
	size_t limit = c->server->memory.limit / 2;

	if (limit && (bytes > limit || c->bytes > limit - bytes))
		return err_set(err, -EFBIG, "the request's data need more than half of --memory");
	if (!reserve_share(c, bytes))
		return err_set(err, -ENOMEM,
			       "the memory budget of the server is exhausted; retry later");
	return 0;
}

static int claim(void *ctx, size_t bytes, struct err *err)
{
	return claim_profile(ctx, bytes < SIZE_MAX / CLAIM_FACTOR ? CLAIM_FACTOR * bytes : SIZE_MAX,
			     err);
}

/*
 * Reserves memory for a query. The store is not shrunk here, because this is called in the middle
 * of an allocation, when the store's locks may be held.
 */
static bool reserve_heap(void *ctx, size_t bytes)
{
	struct server *s = ctx;

	return memory_budget_reserve(&s->memory, bytes);
}

static void release_heap(void *ctx, size_t bytes)
{
	struct server *s = ctx;

	memory_budget_release(&s->memory, bytes);
}

static void begin_heap(struct server *s, struct claims *c)
{
	c->heap = (struct heap_claim){
		.reserve = reserve_heap, .release = release_heap, .ctx = s, .step = QUERY_STEP
	};
	heap_claim_begin(&c->heap);
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

/* Runs the method, and replaces a response that is too large by an error. */
static int run_bounded(struct rpc *rpc)
{
	const struct claims *claims = rpc->claim_ctx;
	struct buf *body = &rpc->rs->body;
	int r;

	body->max = claims->server->max_response;
	r = rpc->api->run(rpc);
	if (r == 0)
		r = buf_error(body);
	if (claims->heap.failed) { /* whatever the method made of it */
		*rpc->err = (struct err){ 0 };
		r = err_set(rpc->err, -ENOMEM,
			    "the memory budget of the server is exhausted; retry later or select "
			    "less");
	}
	if (r == -EFBIG)
		err_set(rpc->err, r, "the response exceeds the limit of %zu bytes; select less",
			claims->server->max_response);
	return r;
}

/*
 * Runs the method, for which *@reserved bytes are reserved. All that a query allocates counts, so
 * the half of them that is for its first step is released. If there was no room, the store frees
 * what it can for the next attempt.
 */
static void compute(struct server *s, struct rpc *rpc, size_t *reserved)
{
	struct claims *claims = rpc->claim_ctx;
	bool reads = rpc->api->cost == API_QUERY || rpc->api->cost == API_LOOKUP;

	if (reads) {
		memory_budget_release(&s->memory, *reserved / 2);
		*reserved -= *reserved / 2;
		begin_heap(s, claims);
	}
	rpc->api->framing(rpc, run_bounded);
	if (reads)
		heap_claim_end(&claims->heap);
	if (claims->heap.failed)
		shrink(s);
	query_results_end(s->results, rpc);
}

/*
 * Runs the method if the memory budget allows. Free methods always run: monitoring depends on them.
 */
static int serve(struct server *s, struct rpc *rpc)
{
	size_t bytes = memory_needed(rpc->api, rpc->rq);
	struct claims *claims = rpc->claim_ctx;
	int r = 0;

	claims->reserved = rpc->api->cost == API_PUSH ? CLAIM_STEP : 0;
	if (bytes + claims->reserved && !reserve(s, bytes + claims->reserved))
		return err_set(rpc->err, -ENOMEM,
			       "the memory budget of the server is exhausted; retry later");
	if (rpc->api->cost != API_FREE && rpc->api->cost != API_VERIFY)
		r = arguments_check(rpc);
	if (r == 0 && api_is_first(rpc) && rpc->api->cost == API_PUSH)
		r = charge_bytes(rpc);
	if (r == 0 && !query_results_begin(s->results, rpc))
		compute(s, rpc, &bytes);
	memory_budget_release(&s->memory, bytes + claims->reserved);
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
void requests_count_refusal(void *ctx, const struct http_request *rq, enum http_refusal why,
			    int status)
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
		snprintf(out->group, sizeof(out->group), "%s", tenant);
	}
}

void requests_begin(void *ctx, const struct http_request *rq, struct http_admission *out)
{
	struct server *s = ctx;

	out->token = tenant_limits_begin_query(s->limits, out->group);
	if (out->token)
		return;
	out->retry_s = 1;
	counters_add(&s->counters, COUNTER_LIMIT_QUERIES);
	refuse_headers(out, 429, "the tenant has too many queries at once");
}

void requests_unread(void *ctx)
{
	struct server *s = ctx;

	counters_add(&s->counters, COUNTER_UNREAD);
}

void requests_release(void *ctx, void *token)
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
void requests_admit(void *ctx, const struct http_request *rq, bool may_block,
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
void requests_answer(void *ctx, const struct http_request *rq, struct http_response *rs)
{
	const struct api_method *api = api_find(api_lists, http_request_path(rq));
	struct server *s = ctx;
	struct claims claims = { .server = s };
	struct err err = { 0 };
	struct rpc rpc = { .store = s->store,
			   .claim = claim,
			   .claim_profile = claim_profile,
			   .claim_ctx = &claims,
			   .access = s->access,
			   .agents = s->agents,
			   .quota = s->quota,
			   .results = s->results,
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
