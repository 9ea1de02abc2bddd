/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Limits wrong passwords, each of which costs milliseconds of a processor: by the address of the
 * client, so that nobody keeps others from signing in, and for all clients together, which bounds
 * the time that is spent. IPv6 addresses of one /64 are one client. Buckets are selected by some
 * bits of a keyed hash of the address, so memory does not depend on the number of clients, and
 * clients cannot choose with whom they share a bucket. Times are CLOCK_MONOTONIC in milliseconds,
 * passed by the caller. Any thread.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct http_peer;

enum {
	ATTEMPTS_BUCKETS = 4096,
	ATTEMPTS_OF_PEER = 20,     /* wrong passwords at once */
	ATTEMPTS_OF_PEER_MS = 200, /* after which one more is allowed */
	ATTEMPTS_OF_ALL = 400,
	ATTEMPTS_OF_ALL_MS = 20,
};

struct attempts_bucket {
	int64_t refilled_ms;
	int failures;
};

struct attempts {
	pthread_mutex_t lock; /* guards the buckets */
	uint64_t seed;
	struct attempts_bucket all, by_peer[ATTEMPTS_BUCKETS];
};

void attempts_init(struct attempts *a);
void attempts_fini(struct attempts *a);

/* A hash of the client's address, random for each process, that distinguishes clients. */
uint64_t attempts_hash(const struct attempts *a, const struct http_peer *peer);

/* Returns true if a password of this client may be verified now. */
bool attempts_allow(struct attempts *a, const struct http_peer *peer, int64_t now_ms);

/* Counts a wrong password. */
void attempts_count(struct attempts *a, const struct http_peer *peer, int64_t now_ms);
