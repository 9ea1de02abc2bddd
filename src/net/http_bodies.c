/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Incomplete bodies are in a list, the one whose last progress is longest ago first. Progress is
 * PROGRESS_BYTES, not a single byte, so a client cannot pretend it. Bodies that made none for
 * STALL_MS may be dropped: at that rate a body of a megabyte takes half a minute.
 *
 * A body is appended to and dropped under the lock, because the thread that needs memory is not
 * always the one that receives the body which is dropped.
 */
#include "net/http_bodies.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "net/http_request.h"

enum {
	STALL_MS = 2000,
	PROGRESS_BYTES = 64 << 10,
	N_FLOWS = 64,
	FLOW_PARTS = 3, /* of FLOW_WHOLE parts of the memory */
	FLOW_WHOLE = 4,
};

struct http_bodies {
	pthread_mutex_t lock;
	size_t max_memory, max_body, used;
	size_t used_by[N_FLOWS];
	struct http_request *first, *last; /* incomplete bodies */
};

struct http_bodies *http_bodies_new(size_t max_memory, size_t max_body)
{
	struct http_bodies *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->max_memory = max_memory;
	b->max_body = max_body;
	pthread_mutex_init(&b->lock, NULL);
	return b;
}

void http_bodies_free(struct http_bodies *b)
{
	if (!b)
		return;
	pthread_mutex_destroy(&b->lock);
	free(b);
}

static size_t *used_by(struct http_bodies *b, const struct http_request *rq)
{
	return &b->used_by[rq->memory.flow % N_FLOWS];
}

static void unlist(struct http_bodies *b, struct http_request *rq)
{
	struct http_body *body = &rq->memory;

	if (!body->is_listed)
		return;
	if (body->prev)
		body->prev->memory.next = body->next;
	else
		b->first = body->next;
	if (body->next)
		body->next->memory.prev = body->prev;
	else
		b->last = body->prev;
	body->is_listed = false;
}

/* Puts a request that has made progress at the end of the list. */
static void mark(struct http_bodies *b, struct http_request *rq, int64_t now_ms)
{
	struct http_body *body = &rq->memory;

	unlist(b, rq);
	body->marked_ms = now_ms;
	body->marked_len = rq->body.len;
	body->prev = b->last;
	body->next = NULL;
	if (b->last)
		b->last->memory.next = rq;
	else
		b->first = rq;
	b->last = rq;
	body->is_listed = true;
}

static void release(struct http_bodies *b, struct http_request *rq)
{
	unlist(b, rq);
	b->used -= rq->memory.charged;
	*used_by(b, rq) -= rq->memory.charged;
	rq->memory.charged = 0;
	buf_fini(&rq->body);
	rq->body = (struct buf){ 0 };
}

static void drop(struct http_bodies *b, struct http_request *rq)
{
	release(b, rq);
	rq->over_memory = true;
}

/* The only body of a flow may use all memory: a smaller limit would refuse it each time. */
static bool fits(struct http_bodies *b, const struct http_request *rq, size_t len)
{
	size_t by_flow = *used_by(b, rq);

	return b->used + len <= b->max_memory &&
	       (by_flow == rq->memory.charged ||
		by_flow + len <= b->max_memory / FLOW_WHOLE * FLOW_PARTS);
}

/*
 * Returns the body that has waited longest among those whose end makes room for @rq. If only the
 * flow of @rq has used up its part, bodies of other flows are left alone.
 */
static struct http_request *victim(struct http_bodies *b, const struct http_request *rq, size_t len)
{
	struct http_request *v = b->first;

	if (b->used + len > b->max_memory)
		return v;
	while (v && used_by(b, v) != used_by(b, rq))
		v = v->memory.next;
	return v;
}

/* Drops stalled bodies until there is room for @len more bytes of @rq. */
static bool make_room(struct http_bodies *b, const struct http_request *rq, size_t len,
		      int64_t now_ms)
{
	while (!fits(b, rq, len)) {
		struct http_request *v = victim(b, rq, len);

		if (!v || v == rq || now_ms - v->memory.marked_ms < STALL_MS)
			return false;
		drop(b, v);
	}
	return true;
}

static int receive(struct http_bodies *b, struct http_request *rq, const void *data, size_t len)
{
	int64_t now_ms = clock_monotonic_ms();

	if (rq->over_memory)
		return 0;
	if (!rq->memory.charged)
		rq->memory.flow = rq->flow;
	if (!make_room(b, rq, len, now_ms)) {
		drop(b, rq);
		return 0;
	}
	buf_put(&rq->body, data, len);
	if (buf_error(&rq->body))
		return -ENOMEM;
	b->used += len;
	*used_by(b, rq) += len;
	rq->memory.charged += len;
	if (!rq->memory.is_listed || rq->body.len - rq->memory.marked_len >= PROGRESS_BYTES)
		mark(b, rq, now_ms);
	return 0;
}

size_t http_bodies_max(const struct http_bodies *b, const struct http_request *rq)
{
	size_t max = rq->memory.max;

	return max && max < b->max_body ? max : b->max_body;
}

int http_bodies_receive(struct http_bodies *b, struct http_request *rq, const void *data,
			size_t len)
{
	size_t max = http_bodies_max(b, rq);
	int r;

	if (rq->memory.received > max || len > max - rq->memory.received)
		return -EMSGSIZE;
	rq->memory.received += len;
	if (rq->memory.is_discarded)
		return 0;
	pthread_mutex_lock(&b->lock);
	r = receive(b, rq, data, len);
	pthread_mutex_unlock(&b->lock);
	return r;
}

void http_bodies_complete(struct http_bodies *b, struct http_request *rq)
{
	pthread_mutex_lock(&b->lock);
	unlist(b, rq);
	pthread_mutex_unlock(&b->lock);
}

void http_bodies_release(struct http_bodies *b, struct http_request *rq)
{
	pthread_mutex_lock(&b->lock);
	release(b, rq);
	pthread_mutex_unlock(&b->lock);
}
