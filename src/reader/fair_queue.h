/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Requests that wait for a reader, and how much time the readers spent for each owner recently. The
 * owner for whom they spent least is next, so slow files of one user delay that user's own requests
 * rather than those of others. The oldest request of an owner is next. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct fair_request {
	uint32_t file;  /* 0: cancelled */
	uint32_t owner; /* the user that the file belongs to */
	bool sweep_all;
};

struct fair_owner {
	uint32_t owner;
	uint32_t n_running;
	uint64_t spent_ns; /* halved every FAIR_QUEUE_HALF_NS */
};

#define FAIR_QUEUE_HALF_NS 10000000000ULL

struct fair_queue {
	struct {
		VEC(struct fair_request);
	} waiting; /* oldest first */
	struct {
		VEC(struct fair_owner);
	} owners; /* owners with requests, or with a spent_ns that is not 0 */
	uint64_t halved_ns;
};

void fair_queue_fini(struct fair_queue *q);

/* Returns 0 or -ENOMEM. */
int fair_queue_put(struct fair_queue *q, const struct fair_request *r);

/* The request for @file that waits, or NULL. Valid until the queue changes. */
struct fair_request *fair_queue_find(const struct fair_queue *q, uint32_t file);

/*
 * Finds the request that is next. Owners other than root that have @max_running requests running
 * already are passed over, so that none occupies all readers. Returns false if there is none.
 */
bool fair_queue_next(const struct fair_queue *q, uint32_t max_running, size_t *out_index);

/* Removes request number @index, and notes that it runs, until fair_queue_end(). */
void fair_queue_begin(struct fair_queue *q, size_t index);

/* Removes request number @index, which cannot run. */
void fair_queue_drop(struct fair_queue *q, size_t index);

/* A request of @owner ended after @ns. @now_ns: CLOCK_MONOTONIC. */
void fair_queue_end(struct fair_queue *q, uint32_t owner, uint64_t ns, uint64_t now_ns);
