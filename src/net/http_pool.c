/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers take requests of flows in turn (turns.h), so a tenant with a thousand waiting requests
 * delays the request of another tenant by one turn.
 *
 * Workers wait for a semaphore and not for a condition: pthread_cond_signal() may wait until
 * threads that it woke before have had a processor, and its caller is the thread of all
 * connections.
 *
 * Workers are threads with blocking handlers: a query computes for milliseconds to seconds, and a
 * few of them are enough for any number of connections.
 */
#include "net/http_pool.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "net/http_request.h"

enum { MAX_WORKERS = 64, FLOW_DIVISOR = 2 };

struct http_pool {
	struct http_pool_options opt;
	http_pool_run_fn run;
	sem_t more;           /* posted for each request, and for each worker at the end */
	pthread_mutex_t lock; /* guards what follows, except the threads */
	struct turns waiting;
	unsigned int n_waiting[TURNS_FLOWS]; /* requests, by flow */
	struct http_pool_state state;
	bool stop;
	unsigned int n_workers;
	pthread_t workers[MAX_WORKERS];
};

static uint32_t flow_of(const struct http_request *rq)
{
	return (uint32_t)(rq->flow % TURNS_FLOWS);
}

/* With the lock. */
static int check_room(const struct http_pool *p, uint32_t flow)
{
	if (p->stop)
		return -ESHUTDOWN;
	return p->state.n_waiting < p->opt.max_queue &&
			       p->n_waiting[flow] < (p->opt.max_queue + 1) / FLOW_DIVISOR
		       ? 0
		       : -EAGAIN;
}

bool http_pool_has_room(struct http_pool *p, const struct http_request *rq)
{
	bool has;

	pthread_mutex_lock(&p->lock);
	has = check_room(p, flow_of(rq)) == 0;
	pthread_mutex_unlock(&p->lock);
	return has;
}

int http_pool_put(struct http_pool *p, struct http_request *rq)
{
	int r;

	if (!p->opt.n_workers) {
		p->run(rq);
		return 0;
	}
	pthread_mutex_lock(&p->lock);
	r = check_room(p, flow_of(rq));
	if (r == 0) {
		turns_add(&p->waiting, &rq->turn, rq, flow_of(rq));
		p->n_waiting[flow_of(rq)]++;
		p->state.n_waiting++;
	}
	pthread_mutex_unlock(&p->lock);
	if (r == 0)
		sem_post(&p->more);
	return r;
}

/* Takes the first request of the next flow that has one; NULL if none waits. With the lock. */
static struct http_request *take(struct http_pool *p)
{
	struct http_request *rq = turns_take(&p->waiting);

	if (rq) {
		p->n_waiting[flow_of(rq)]--;
		p->state.n_waiting--;
	}
	return rq;
}

/*
 * Runs requests without the lock. After http_pool_stop() it empties the queue before it returns.
 * setpriority() applies to the calling thread alone, because Linux has a nice value for each
 * thread.
 */
static void *worker_main(void *arg)
{
	struct http_pool *p = arg;

	pthread_setname_np(pthread_self(), p->opt.name);
	if (p->opt.nice)
		setpriority(PRIO_PROCESS, (id_t)gettid(),
			    getpriority(PRIO_PROCESS, (id_t)gettid()) + p->opt.nice);
	for (;;) {
		struct http_request *rq;

		while (sem_wait(&p->more) < 0)
			; /* interrupted by a signal handler */
		pthread_mutex_lock(&p->lock);
		rq = take(p);
		p->state.n_running += rq != NULL;
		pthread_mutex_unlock(&p->lock);
		if (!rq)
			return NULL;
		p->run(rq);
		pthread_mutex_lock(&p->lock);
		p->state.n_running--;
		pthread_mutex_unlock(&p->lock);
	}
}

struct http_pool_state http_pool_state(struct http_pool *p)
{
	struct http_pool_state state;

	pthread_mutex_lock(&p->lock);
	state = p->state;
	pthread_mutex_unlock(&p->lock);
	return state;
}

void http_pool_stop(struct http_pool *p)
{
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_mutex_unlock(&p->lock);
	for (unsigned int i = 0; i < p->n_workers; i++)
		sem_post(&p->more);
	for (; p->n_workers; p->n_workers--)
		pthread_join(p->workers[p->n_workers - 1], NULL);
}

void http_pool_close(struct http_pool *p)
{
	if (!p)
		return;
	http_pool_stop(p);
	pthread_mutex_destroy(&p->lock);
	sem_destroy(&p->more);
	free(p);
}

int http_pool_open(struct http_pool **out, const struct http_pool_options *opt,
		   http_pool_run_fn run)
{
	_cleanup_(http_pool_closep) struct http_pool *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->opt = *opt;
	p->run = run;
	turns_init(&p->waiting);
	pthread_mutex_init(&p->lock, NULL);
	sem_init(&p->more, 0, 0);
	for (; p->n_workers < opt->n_workers && p->n_workers < MAX_WORKERS; p->n_workers++)
		if (pthread_create(&p->workers[p->n_workers], NULL, worker_main, p) != 0)
			return -EAGAIN;
	*out = steal_ptr(&p);
	return 0;
}
