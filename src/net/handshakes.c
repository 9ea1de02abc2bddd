/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Its nice value leaves processors to clients that are connected. One thread is enough: with RSA of
 * 4096 bits, the slowest keys in use, it does 200 handshakes a second.
 */
#include "net/handshakes.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "net/tls.h"

enum { NICE = 5 };

struct handshakes {
	void (*notify)(void *ctx);
	void *ctx;
	sem_t more;           /* posted for each request, and for the end */
	pthread_mutex_t lock; /* guards what follows, except the thread */
	struct turns waiting;
	struct handshake *first, **end; /* with results */
	bool stop;
	bool started;
	pthread_t thread;
};

static void *handshakes_main(void *arg)
{
	struct handshakes *h = arg;
	struct handshake *one;
	bool stop;

	pthread_setname_np(pthread_self(), "tls");
	setpriority(PRIO_PROCESS, (id_t)gettid(), getpriority(PRIO_PROCESS, (id_t)gettid()) + NICE);
	for (;;) {
		while (sem_wait(&h->more) < 0)
			; /* interrupted by a signal handler */
		pthread_mutex_lock(&h->lock);
		stop = h->stop;
		one = stop ? NULL : turns_take(&h->waiting);
		pthread_mutex_unlock(&h->lock);
		if (stop)
			return NULL;
		if (!one) /* it was cancelled */
			continue;
		one->result = tls_handshake(one->tls);
		pthread_mutex_lock(&h->lock);
		one->next = NULL;
		*h->end = one;
		h->end = &one->next;
		pthread_mutex_unlock(&h->lock);
		h->notify(h->ctx);
	}
}

int handshakes_open(struct handshakes **out, void (*done)(void *ctx), void *ctx)
{
	_cleanup_(handshakes_closep) struct handshakes *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return -ENOMEM;
	h->notify = done;
	h->ctx = ctx;
	h->end = &h->first;
	turns_init(&h->waiting);
	pthread_mutex_init(&h->lock, NULL);
	sem_init(&h->more, 0, 0);
	r = -pthread_create(&h->thread, NULL, handshakes_main, h);
	h->started = r == 0;
	if (r == 0)
		*out = steal_ptr(&h);
	return r;
}

void handshakes_close(struct handshakes *h)
{
	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	h->stop = true;
	pthread_mutex_unlock(&h->lock);
	sem_post(&h->more);
	if (h->started)
		pthread_join(h->thread, NULL);
	pthread_mutex_destroy(&h->lock);
	sem_destroy(&h->more);
	free(h);
}

/* The owner of the turn is @one, and its own owner is that of the result. */
void handshakes_put(struct handshakes *h, struct handshake *one, void *owner, uint32_t client)
{
	one->is_requested = true;
	one->owner = owner;
	pthread_mutex_lock(&h->lock);
	turns_add(&h->waiting, &one->turn, one, client);
	pthread_mutex_unlock(&h->lock);
	sem_post(&h->more);
}

bool handshakes_cancel(struct handshakes *h, struct handshake *one)
{
	bool waited;

	pthread_mutex_lock(&h->lock);
	waited = one->turn.in != NULL;
	turns_remove(&one->turn);
	pthread_mutex_unlock(&h->lock);
	if (waited)
		one->is_requested = false;
	return waited;
}

void *handshakes_take(struct handshakes *h)
{
	struct handshake *one;

	pthread_mutex_lock(&h->lock);
	one = h->first;
	if (one) {
		h->first = one->next;
		if (!h->first)
			h->end = &h->first;
	}
	pthread_mutex_unlock(&h->lock);
	if (!one)
		return NULL;
	one->is_requested = false;
	return one->owner;
}
