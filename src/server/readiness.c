/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A check may take as long as the disk or ClickHouse does. The thread that checks holds only the
 * lock "checking" meanwhile, so others return the previous result instead of waiting; before the
 * first check has ended that is 0, because a server that has just opened its store is ready.
 */
#include "server/readiness.h"

#include <stdbool.h>

#include "base/clock.h"
#include "store/store.h"

#define VALID_NS ((int64_t)CLOCK_SECOND_NS)

void readiness_init(struct readiness *r)
{
	*r = (struct readiness){ 0 };
	pthread_mutex_init(&r->checking, NULL);
	pthread_mutex_init(&r->lock, NULL);
}

void readiness_fini(struct readiness *r)
{
	pthread_mutex_destroy(&r->checking);
	pthread_mutex_destroy(&r->lock);
}

/* Returns true if the last result is too old, or if there is none. */
static bool is_due(struct readiness *r)
{
	bool due;

	pthread_mutex_lock(&r->lock);
	due = !r->checked_ns || (int64_t)clock_monotonic_ns() - r->checked_ns >= VALID_NS;
	pthread_mutex_unlock(&r->lock);
	return due;
}

/* Runs the check and stores its result. The caller holds r->checking and not r->lock. */
static void check(struct readiness *r, struct store *store)
{
	struct err err = { 0 };
	int result = store_check(store, &err);

	pthread_mutex_lock(&r->lock);
	r->result = result;
	r->err = err;
	r->checked_ns = (int64_t)clock_monotonic_ns();
	pthread_mutex_unlock(&r->lock);
}

int readiness_check(struct readiness *r, struct store *store, struct err *err)
{
	int result;

	if (is_due(r) && pthread_mutex_trylock(&r->checking) == 0) {
		check(r, store);
		pthread_mutex_unlock(&r->checking);
	}
	pthread_mutex_lock(&r->lock);
	result = r->result;
	if (result < 0)
		err_set(err, result, "%s", r->err.msg);
	pthread_mutex_unlock(&r->lock);
	return result;
}
