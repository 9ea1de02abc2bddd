/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>
#include <stdint.h>

/*
 * Starts a thread with all signals blocked, so that the main thread gets them. The caller joins
 * it. Returns 0 or -errno.
 */
int thread_start(pthread_t *out, void *(*run)(void *arg), void *arg);

/*
 * Waits on a condition until it is signalled or CLOCK_MONOTONIC reaches @until_ns. The condition
 * needs no attributes. Returns 0, also after a spurious wakeup, or ETIMEDOUT.
 *
 * All timed waits are by this clock: pthread_cond_timedwait() with default attributes waits a day
 * longer when the system's time is set back by a day.
 */
int thread_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns);

/*
 * Initializes a lock that prefers writers: by default, a writer would never get it while readers
 * follow each other without a gap. A thread must not take it for reading twice.
 */
void thread_rwlock_init(pthread_rwlock_t *lock);
