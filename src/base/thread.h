/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>

/*
 * Starts a thread with all signals blocked, so that the main thread gets them. The caller joins
 * it. Returns 0 or -errno.
 */
int thread_start(pthread_t *out, void *(*run)(void *arg), void *arg);

/*
 * Initializes a lock that prefers writers: by default, one would never get it while readers follow
 * each other without a gap. A thread must not take it for reading twice.
 */
void thread_rwlock_init(pthread_rwlock_t *lock);
