/* SPDX-License-Identifier: Apache-2.0 */
#include "server/attempts.h"

#include <netinet/in.h>
#include <string.h>

#include "base/hash.h"
#include "net/http.h"

void attempts_init(struct attempts *a)
{
	memset(a, 0, sizeof(*a));
	a->seed = hash_seed();
	pthread_mutex_init(&a->lock, NULL);
}

void attempts_fini(struct attempts *a)
{
	pthread_mutex_destroy(&a->lock);
}

/* The first 64 bits of an IPv6 address, because a host usually has a whole /64. */
uint64_t attempts_hash(const struct attempts *a, const struct http_peer *peer)
{
	const struct sockaddr_in6 *v6 = (const void *)&peer->addr;
	const struct sockaddr_in *v4 = (const void *)&peer->addr;
	const uint8_t *bytes = v6->sin6_addr.s6_addr;

	if (peer->addr.ss_family == AF_INET)
		return XXH3_64bits_withSeed(&v4->sin_addr, sizeof(v4->sin_addr), a->seed);
	if (peer->addr.ss_family != AF_INET6)
		return a->seed;
	if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		return XXH3_64bits_withSeed(bytes + 12, 4, a->seed);
	return XXH3_64bits_withSeed(bytes, 8, a->seed);
}

static struct attempts_bucket *bucket_of(struct attempts *a, const struct http_peer *peer)
{
	return &a->by_peer[attempts_hash(a, peer) % ATTEMPTS_BUCKETS];
}

static void refill(struct attempts_bucket *b, int64_t now_ms, int64_t one_ms)
{
	int64_t healed = (now_ms - b->refilled_ms) / one_ms;

	b->refilled_ms += healed * one_ms;
	b->failures = healed < b->failures ? b->failures - (int)healed : 0;
}

bool attempts_allow(struct attempts *a, const struct http_peer *peer, int64_t now_ms)
{
	struct attempts_bucket *own = bucket_of(a, peer);
	bool allowed;

	pthread_mutex_lock(&a->lock);
	refill(own, now_ms, ATTEMPTS_OF_PEER_MS);
	refill(&a->all, now_ms, ATTEMPTS_OF_ALL_MS);
	allowed = own->failures < ATTEMPTS_OF_PEER && a->all.failures < ATTEMPTS_OF_ALL;
	pthread_mutex_unlock(&a->lock);
	return allowed;
}

void attempts_count(struct attempts *a, const struct http_peer *peer, int64_t now_ms)
{
	struct attempts_bucket *own = bucket_of(a, peer);

	pthread_mutex_lock(&a->lock);
	refill(own, now_ms, ATTEMPTS_OF_PEER_MS);
	refill(&a->all, now_ms, ATTEMPTS_OF_ALL_MS);
	own->failures += own->failures < ATTEMPTS_OF_PEER;
	a->all.failures += a->all.failures < ATTEMPTS_OF_ALL;
	pthread_mutex_unlock(&a->lock);
}
