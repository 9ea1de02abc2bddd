/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Queues by turns: requests of tenants wait for a worker, connections of clients for a thread.
 * Flows (tenants, clients) take turns, so a flow with a thousand waiting things delays another by
 * one turn. Flows are hashed to TURNS_FLOWS lists, so that the number of lists does not depend on
 * clients; flows that share a list share its turn. Not locked: the caller holds a lock, or it
 * belongs to one thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

enum { TURNS_FLOWS = 64 };

struct turns;

/* A place in a queue, as a member of what waits. Zeroed: it waits nowhere. */
struct turn {
	struct turns *in; /* NULL: none */
	void *owner;      /* of this struct */
	uint32_t flow;
	TAILQ_ENTRY(turn) others;
};

TAILQ_HEAD(turn_list, turn);

struct turns {
	struct turn_list flows[TURNS_FLOWS];
	uint64_t waiting;  /* bit N: flows[N] is not empty */
	unsigned int next; /* the flow to visit next */
};

void turns_init(struct turns *t);
bool turns_is_empty(const struct turns *t);

/* Adds @owner behind those of the same flow, which is a hash, unless it waits already. */
void turns_add(struct turns *t, struct turn *turn, void *owner, uint32_t flow);

/* Removes it from the queue in which it waits, if any. */
void turns_remove(struct turn *turn);

/* Removes the first of the next flow, and returns its owner; NULL if none waits. */
void *turns_take(struct turns *t);
