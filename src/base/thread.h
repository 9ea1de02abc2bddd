/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>

/* A thread that gets no signals: they are for the others. 0 or -errno. */
int thread_start(pthread_t *out, void *(*run)(void *arg), void *arg);
