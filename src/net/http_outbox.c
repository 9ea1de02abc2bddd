/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections with unsent responses are in a list, the one whose last progress is longest ago
 * first. Progress is PROGRESS_BYTES or the end of a response, not a single byte, so a client cannot
 * pretend it. A connection that is shut down counts no more, since its memory becomes free as soon
 * as its thread notices.
 */
#include "net/http_outbox.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "net/deadline.h"

enum { PROGRESS_BYTES = 64 << 10 };

struct http_outboxes {
	struct http_outboxes_options opt;
	pthread_mutex_t lock;
	size_t used;
	struct http_outbox *first, *last;
};

struct http_outboxes *http_outboxes_new(const struct http_outboxes_options *opt)
{
	struct http_outboxes *all = calloc(1, sizeof(*all));

	if (!all)
		return NULL;
	all->opt = *opt;
	pthread_mutex_init(&all->lock, NULL);
	return all;
}

void http_outboxes_free(struct http_outboxes *all)
{
	if (!all)
		return;
	pthread_mutex_destroy(&all->lock);
	free(all);
}

static void unlist(struct http_outbox *o)
{
	struct http_outboxes *all = o->all;

	if (!o->is_listed)
		return;
	if (o->prev)
		o->prev->next = o->next;
	else
		all->first = o->next;
	if (o->next)
		o->next->prev = o->prev;
	else
		all->last = o->prev;
	o->is_listed = false;
}

/* Puts a connection that has made progress at the end of the list. */
static void mark(struct http_outbox *o)
{
	struct http_outboxes *all = o->all;

	unlist(o);
	o->marked_ms = clock_monotonic_ms();
	o->progress = 0;
	o->prev = all->last;
	o->next = NULL;
	if (all->last)
		all->last->next = o;
	else
		all->first = o;
	all->last = o;
	o->is_listed = true;
}

static void forget(struct http_outbox *o)
{
	unlist(o);
	o->all->used -= o->bytes;
	o->bytes = 0;
}

static void shut_down(struct http_outbox *o)
{
	const struct http_outboxes_options *opt = &o->all->opt;

	forget(o);
	o->is_shut = true;
	o->shut_down(o->connection);
	if (opt->unread)
		opt->unread(opt->ctx);
}

/* Returns true if the only unsent response is that of @bytes, which was just added to @o. */
static bool is_last(const struct http_outbox *o, size_t bytes)
{
	return o->all->first == o && o->bytes == bytes;
}

void http_outbox_add(struct http_outbox *o, size_t bytes)
{
	struct http_outboxes *all = o->all;

	if (!bytes)
		return;
	pthread_mutex_lock(&all->lock);
	if (!o->is_shut) {
		if (!o->is_listed)
			mark(o);
		o->bytes += bytes;
		all->used += bytes;
		while (all->opt.max_bytes && all->used > all->opt.max_bytes && !is_last(o, bytes))
			shut_down(all->first);
	}
	pthread_mutex_unlock(&all->lock);
}

void http_outbox_sent(struct http_outbox *o, size_t bytes)
{
	pthread_mutex_lock(&o->all->lock);
	o->progress += bytes;
	if (o->is_listed && o->progress >= PROGRESS_BYTES)
		mark(o);
	pthread_mutex_unlock(&o->all->lock);
}

void http_outbox_remove(struct http_outbox *o, size_t bytes)
{
	if (!bytes)
		return;
	pthread_mutex_lock(&o->all->lock);
	if (!o->is_shut) {
		o->bytes -= bytes;
		o->all->used -= bytes;
		if (o->bytes)
			mark(o);
		else
			unlist(o);
	}
	pthread_mutex_unlock(&o->all->lock);
}

void http_outbox_leave(struct http_outbox *o)
{
	if (!o->all)
		return;
	pthread_mutex_lock(&o->all->lock);
	forget(o);
	o->is_shut = true;
	pthread_mutex_unlock(&o->all->lock);
}

void http_outboxes_sweep(struct http_outboxes *all, int64_t now_ms)
{
	pthread_mutex_lock(&all->lock);
	while (all->first && deadline_is_over(all->first->marked_ms, PROGRESS_BYTES,
					      all->opt.idle_seconds, now_ms))
		shut_down(all->first);
	pthread_mutex_unlock(&all->lock);
}
