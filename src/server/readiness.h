/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Readiness for /ready: the server can store and answer. The request needs no authentication, so
 * the store is checked at most once a second, by one thread, while others get the last result. Any
 * thread.
 */
#include <pthread.h>
#include <stdint.h>

#include "base/err.h"

struct store;

struct readiness {
	pthread_mutex_t checking; /* held during a check */
	pthread_mutex_t lock;     /* guards the members below */
	int64_t checked_ns;       /* CLOCK_MONOTONIC; 0 before the first check */
	int result;
	struct err err;
};

void readiness_init(struct readiness *r);
void readiness_fini(struct readiness *r);

/*
 * Returns 0, or -errno with the reason in @err. The result is at most a second old, or as old as
 * the check that another thread is running. Blocks for the length of one check at most.
 */
int readiness_check(struct readiness *r, struct store *store, struct err *err);
