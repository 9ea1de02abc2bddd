/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sixteenth of the idle connections is closed at a time, so the cost of sorting all of them is
 * that of a few for each connection that is accepted. Connections belong to two threads, which
 * enumerate their own under their own locks; what is passed between the passes is therefore not a
 * connection but its place in the order.
 */
#include "net/make_room.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/hash.h"
#include "base/vec.h"
#include "net/http.h"

enum { PART = 16, RESERVE_DIVISOR = 4, MAX_RESERVE = 1024, FEW_CONNECTIONS = 16 };

/* The place of a connection in the order in which they are closed: smaller ones first. */
struct place {
	bool has_asked;
	uint32_t n_others; /* connections of other clients than its own */
	int64_t since_ms;
};

struct room {
	uint32_t n, n_by_client[MAKE_ROOM_CLIENTS];
	VEC(struct place);
	struct place last; /* to be closed */
	size_t n_closed, n_to_close;
};

uint32_t make_room_client(const struct http_peer *peer)
{
	const struct sockaddr_in6 *v6 = (const void *)&peer->addr;
	const struct sockaddr_in *v4 = (const void *)&peer->addr;
	const uint8_t *bytes = v6->sin6_addr.s6_addr;
	const void *from = &v4->sin_addr;
	size_t len = sizeof(v4->sin_addr);

	if (peer->addr.ss_family == AF_INET6) {
		bool is_v4 = IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);

		from = is_v4 ? bytes + 12 : bytes;
		len = is_v4 ? 4 : 8;
	} else if (peer->addr.ss_family != AF_INET) {
		return 0;
	}
	return (uint32_t)(XXH3_64bits_withSeed(from, len, hash_seed()) % MAKE_ROOM_CLIENTS);
}

static struct place place_of(const struct room *r, const struct idle_connection *c)
{
	return (struct place){ c->has_asked, r->n - r->n_by_client[c->client], c->since_ms };
}

static int compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->has_asked != y->has_asked)
		return x->has_asked - y->has_asked;
	if (x->n_others != y->n_others)
		return x->n_others < y->n_others ? -1 : 1;
	return x->since_ms < y->since_ms ? -1 : x->since_ms > y->since_ms;
}

static bool count(void *ctx, const struct idle_connection *c)
{
	struct room *r = ctx;

	r->n++;
	r->n_by_client[c->client]++;
	return false;
}

/* If memory runs out, only the connections that were collected before are considered. */
static bool collect(void *ctx, const struct idle_connection *c)
{
	struct room *r = ctx;

	(void)vec_push(r, place_of(r, c));
	return false;
}

static bool choose(void *ctx, const struct idle_connection *c)
{
	const struct place place = place_of(ctx, c);
	struct room *r = ctx;

	if (r->n_closed == r->n_to_close || compare(&place, &r->last) > 0)
		return false;
	r->n_closed++;
	return true;
}

size_t make_room(make_room_each_fn each, void *owner)
{
	struct room *r = calloc(1, sizeof(*r));
	size_t n_closed;

	if (!r)
		return 0;
	each(owner, count, r);
	each(owner, collect, r);
	if (r->len) {
		qsort(r->data, r->len, sizeof(*r->data), compare);
		r->n_to_close = (r->len + PART - 1) / PART;
		r->last = r->data[r->n_to_close - 1];
		each(owner, choose, r);
	}
	n_closed = r->n_closed;
	vec_fini(r);
	free(r);
	return n_closed;
}

/* True if less than the reserve of descriptors is free. */
static bool descriptors_are_short(int fd)
{
	struct rlimit limit = { 0 };
	rlim_t reserve;

	getrlimit(RLIMIT_NOFILE, &limit);
	reserve = limit.rlim_cur / RESERVE_DIVISOR;
	reserve = reserve < MAX_RESERVE ? reserve : MAX_RESERVE;
	return (rlim_t)fd >= limit.rlim_cur - reserve;
}

bool make_room_is_needed(size_t n_connections, size_t max, int fd)
{
	return n_connections >= max ||
	       (n_connections >= FEW_CONNECTIONS && descriptors_are_short(fd));
}
