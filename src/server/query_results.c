/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list with the latest response first, searched linearly: there are at most MAX_RESULTS. When
 * data in the range of a result changes, the result is stale: it leaves the list, but requests that
 * already wait for it may use it, because they were sent before the change was acknowledged. An
 * error is passed on to waiting requests, too, unless another request might not meet it
 * (FIRST_OWN_STATUS). Each request that uses a result holds a reference.
 */
#include "server/query_results.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/thread.h"
#include "net/http_server.h"
#include "server/api.h"
#include "server/counters.h"
#include "server/rpc.h"
#include "store/store.h"

enum {
	MAX_RESULTS = 256,
	MAX_KEY = 65536,
	PART = 8, /* one response may take this part of the memory */
	WAIT_MS = 200,
	FIRST_OWN_STATUS = 499, /* the first error that another request might not meet */
};

struct query_result {
	struct buf key, body;
	char tenant[STORE_TENANT_MAX + 1];
	int64_t first_ns, last_ns; /* what was read; first > last: nothing yet */
	bool done, stale;
	bool is_usable; /* by requests that waited for it */
	unsigned int users;
	uint64_t stamp;             /* 0: it is not retained */
	size_t n_headers_before;    /* of the request that computes it, before the method ran */
	struct http_response reply; /* without its body */
	struct query_result *next;  /* in the list, of which a stale result is not part */
};

struct query_results {
	pthread_mutex_t lock;
	pthread_cond_t finished;
	struct query_result *first;
	size_t max_bytes;
};

static void result_free(struct query_result *r)
{
	buf_fini(&r->key);
	buf_fini(&r->body);
	free(r);
}

static void release(struct query_result *r)
{
	if (!--r->users && r->stale)
		result_free(r);
}

/* Takes a result out of the list. Requests that use it free it. With the lock. */
static void drop(struct query_result **at)
{
	struct query_result *r = *at;

	*at = r->next;
	r->stale = true;
	if (!r->users)
		result_free(r);
}

static void put_key(struct buf *key, const char *text)
{
	buf_put(key, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* Requests with a time limit of their own, and large ones, are not shared. */
static bool make_key(const struct rpc *rpc, struct buf *key)
{
	static const char *const headers[] = { "Content-Type", "Content-Encoding", "grpc-encoding",
					       "Connect-Protocol-Version" };
	const struct http_request *rq = rpc->rq;
	size_t len;
	const void *body = http_request_body(rq, &len);

	if (rpc->api->cost != API_QUERY || !api_reads_body(rpc->api) || len > MAX_KEY ||
	    strcmp(http_request_method(rq), "POST") != 0 ||
	    http_request_header(rq, "Connect-Timeout-Ms") ||
	    http_request_header(rq, "grpc-timeout"))
		return false;
	put_key(key, rpc->api->path);
	put_key(key, rpc->tenant);
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		put_key(key, http_request_header(rq, headers[i]));
	buf_put(key, body, len);
	return !buf_error(key);
}

/* With the lock. */
static struct query_result **find(struct query_results *c, const struct buf *key)
{
	struct query_result **at = &c->first;

	while (*at &&
	       ((*at)->key.len != key->len || memcmp((*at)->key.data, key->data, key->len) != 0))
		at = &(*at)->next;
	return at;
}

/*
 * Translates a header's value that lies within the response @from to the same place in the copy
 * @to.
 */
static const char *moved(const char *value, const struct http_response *from,
			 struct http_response *to)
{
	const char *base = (const char *)from;

	return value >= base && value < base + sizeof(*from) ? (char *)to + (value - base) : value;
}

static void copy_reply(const struct http_response *from, size_t first_header,
		       struct http_response *to)
{
	to->status = from->status;
	to->content_type = from->content_type;
	memcpy(to->trailer_text, from->trailer_text, sizeof(to->trailer_text));
	memcpy(to->header_text, from->header_text, sizeof(to->header_text));
	for (size_t i = first_header; i < from->n_headers; i++)
		http_response_add(to, from->headers[i].name,
				  moved(from->headers[i].value, from, to));
	for (size_t i = 0; i < from->n_trailers; i++)
		http_response_add_trailer(to, from->trailers[i].name,
					  moved(from->trailers[i].value, from, to));
}

/* Waits until the result is there. Returns false if the client is gone. With the lock. */
static bool wait_for(struct query_results *c, const struct query_result *r, const struct rpc *rpc)
{
	while (!r->done) {
		if (http_request_is_abandoned(rpc->rq))
			return false;
		thread_wait_until(&c->finished, &c->lock,
				  clock_monotonic_ns() + WAIT_MS * CLOCK_MS_NS);
	}
	return true;
}

/* The stamp of the files that a result was read from; 0: it cannot be used. */
static uint64_t stamp_of(const struct rpc *rpc, int64_t first_ns, int64_t last_ns)
{
	return first_ns > last_ns ? 0 : store_stamp(rpc->store, rpc->tenant, first_ns, last_ns);
}

/* Adds the result of a request that has to be computed. With the lock. */
static struct query_result *add(struct query_results *c, const struct rpc *rpc, struct buf *key)
{
	struct query_result *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->key = *key;
	*key = (struct buf){ 0 };
	strncpy(r->tenant, rpc->tenant, sizeof(r->tenant) - 1);
	r->first_ns = INT64_MAX;
	r->last_ns = INT64_MIN;
	r->users = 1;
	r->n_headers_before = rpc->rs->n_headers;
	r->next = c->first;
	c->first = r;
	return r;
}

/* Copies the response of @r, which the caller holds. Its body is constant once it is done. */
static bool use(const struct query_result *r, bool waited, struct rpc *rpc)
{
	if (!r->is_usable || (!waited && stamp_of(rpc, r->first_ns, r->last_ns) != r->stamp))
		return false;
	copy_reply(&r->reply, 0, rpc->rs);
	buf_put(&rpc->rs->body, r->body.data, r->body.len);
	return true;
}

static void forget(struct query_results *c, struct query_result *r)
{
	for (struct query_result **at = &c->first; *at; at = &(*at)->next)
		if (*at == r) {
			drop(at);
			return;
		}
}

bool query_results_begin(struct query_results *c, struct rpc *rpc)
{
	_cleanup_(buf_fini) struct buf key = { 0 };
	struct query_result *r;
	bool used = false, waited;

	rpc->result = NULL;
	if (!c || !store_has_stamp(rpc->store) || !make_key(rpc, &key))
		return false;
	pthread_mutex_lock(&c->lock);
	r = *find(c, &key);
	if (r) {
		waited = !r->done;
		r->users++;
		used = wait_for(c, r, rpc);
		pthread_mutex_unlock(&c->lock);
		used = used && use(r, waited, rpc);
		if (used)
			counters_add(rpc->counters,
				     waited ? COUNTER_QUERY_SHARED : COUNTER_QUERY_RETAINED);
		pthread_mutex_lock(&c->lock);
		if (!used && r->done)
			forget(c, r);
		release(r);
	}
	if (!used && !*find(c, &key))
		rpc->result = add(c, rpc, &key);
	pthread_mutex_unlock(&c->lock);
	return used;
}

void query_results_note_range(struct rpc *rpc, int64_t start_ns, int64_t end_ns)
{
	struct query_result *r = rpc->result;

	if (!r)
		return;
	pthread_mutex_lock(&rpc->results->lock);
	r->first_ns = start_ns < r->first_ns ? start_ns : r->first_ns;
	r->last_ns = end_ns > r->last_ns ? end_ns : r->last_ns;
	pthread_mutex_unlock(&rpc->results->lock);
}

/* Drops the oldest results until the others fit. With the lock. */
static void shrink(struct query_results *c)
{
	struct query_result **at = &c->first;
	size_t bytes = 0, n = 0;

	while (*at) {
		bytes += (*at)->body.len + (*at)->key.len + sizeof(**at);
		if ((*at)->done && (++n > MAX_RESULTS || bytes > c->max_bytes))
			drop(at);
		else
			at = &(*at)->next;
	}
}

/* An error of gRPC has status 200 and a message in its trailers. */
static bool is_success(const struct http_response *rs)
{
	return rs->status == 200 && rs->n_trailers <= 1;
}

void query_results_end(struct query_results *c, struct rpc *rpc)
{
	const struct http_response *rs = rpc->rs;
	struct query_result *r = rpc->result;

	if (!r)
		return;
	rpc->result = NULL;
	if (rs->status < FIRST_OWN_STATUS && rs->n_trailers <= 1 && !buf_error(&rs->body) &&
	    rs->body.len <= c->max_bytes / PART) {
		copy_reply(rs, r->n_headers_before, &r->reply);
		buf_put(&r->body, rs->body.data, rs->body.len);
		r->is_usable = !buf_error(&r->body);
	}
	if (r->is_usable && is_success(rs))
		r->stamp = stamp_of(rpc, r->first_ns, r->last_ns);
	pthread_mutex_lock(&c->lock);
	r->done = true;
	if (!r->stamp)
		forget(c, r);
	release(r);
	shrink(c);
	pthread_cond_broadcast(&c->finished);
	pthread_mutex_unlock(&c->lock);
}

/* A result whose range is not known yet may include any window. */
static bool includes(const struct query_result *r, const char *tenant, int64_t first_ns,
		     int64_t last_ns)
{
	bool unknown = r->first_ns > r->last_ns;

	return (!tenant || !strcmp(tenant, r->tenant)) &&
	       (unknown || (first_ns <= r->last_ns && last_ns >= r->first_ns));
}

void query_results_changed(struct query_results *c, const char *tenant, int64_t first_ns,
			   int64_t last_ns)
{
	struct query_result **at;

	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	for (at = &c->first; *at;)
		if (includes(*at, tenant, first_ns, last_ns))
			drop(at);
		else
			at = &(*at)->next;
	pthread_mutex_unlock(&c->lock);
}

void query_results_free(struct query_results *c)
{
	if (!c)
		return;
	while (c->first)
		drop(&c->first);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->finished);
	free(c);
}

int query_results_new(struct query_results **out, size_t max_bytes)
{
	struct query_results *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->finished, NULL);
	c->max_bytes = max_bytes;
	*out = c;
	return 0;
}
