/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One lock for the queue and the numbers; nothing slow happens under it. The item
 * that is being sent belongs to the thread and is in no queue, so what is dropped
 * for lack of room is never the one under way.
 *
 * Pauses are random, between half and one and a half of what they are nominally:
 * a fleet whose back end was away does not come back as one. For the same reason
 * what has piled up is sent with short random pauses in between.
 */
#include "export/channel.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "export/sink.h"
#include "export/window.h"

enum {
	RETRY_MS = 1000,
	DOUBLINGS_MAX = 6,
	BACKLOG_PAUSE_MS = 200,
	DOUBTFUL_TRIES = 8,
	ITEM_OVERHEAD = 128, /* so that many small items are not free */
};

static const uint64_t LOG_EVERY_NS = 60ULL * CLOCK_SECOND_NS;

struct channel {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	bool started, joined;
	struct channel_options opt;
	char *name;

	struct export_item *queue, **queue_end;
	struct export_sink_stats stats;
	unsigned int n_failures;   /* in a row */
	bool backlog;              /* since a failure the queue was never empty */
	uint64_t not_before_ns;    /* CLOCK_MONOTONIC */
	bool finishing, cancelled; /* no pauses; no more sends */
	bool done;
	uint64_t next_log_ns;
	uint64_t n_muted;
};

static uint64_t random_below(uint64_t n)
{
	uint64_t v = 0;

	if (getrandom(&v, sizeof(v), GRND_NONBLOCK) != sizeof(v))
		v = clock_monotonic_ns();
	return n ? v % n : 0;
}

static size_t item_bytes(const struct export_item *i)
{
	return i->body.len + ITEM_OVERHEAD;
}

/* All that follow, with the lock held, unless they say otherwise. */

static void enqueue(struct channel *c, struct export_item *i, bool in_front)
{
	if (in_front) {
		i->next = c->queue;
		c->queue = i;
		if (c->queue_end == &c->queue)
			c->queue_end = &i->next;
	} else {
		i->next = NULL;
		*c->queue_end = i;
		c->queue_end = &i->next;
	}
	c->stats.queued_items++;
	c->stats.queued_bytes += item_bytes(i);
}

static struct export_item *dequeue(struct channel *c)
{
	struct export_item *i = c->queue;

	if (!i)
		return NULL;
	c->queue = i->next;
	if (!c->queue)
		c->queue_end = &c->queue;
	i->next = NULL;
	c->stats.queued_items--;
	c->stats.queued_bytes -= item_bytes(i);
	return i;
}

static void drop(struct channel *c, struct export_item *i, enum export_drop reason)
{
	c->stats.dropped[reason]++;
	export_item_free(i);
}

static void make_room(struct channel *c)
{
	while (c->stats.queued_bytes > c->opt.queue_bytes)
		drop(c, dequeue(c), EXPORT_DROP_QUEUE_FULL);
}

static uint64_t total_drops(const struct channel *c)
{
	uint64_t n = 0;

	for (size_t i = 0; i < EXPORT_DROP_MAX; i++)
		n += c->stats.dropped[i];
	return n;
}

/* What there is to say, if it is time to say something: true and @line. */
static bool log_line(struct channel *c, const char *what, char line[400])
{
	uint64_t now = clock_monotonic_ns(), drops = total_drops(c);
	int n;

	if (!c->opt.log || now < c->next_log_ns) {
		c->n_muted++;
		return false;
	}
	n = snprintf(line, 400, "%s: %s", c->name, what);
	if (c->stats.queued_items && n < 400)
		n += snprintf(line + n, 400 - (size_t)n, "; %" PRIu64 " waiting",
			      c->stats.queued_items + c->stats.spooled_items);
	if (drops && n < 400)
		n += snprintf(line + n, 400 - (size_t)n, "; %" PRIu64 " dropped so far", drops);
	if (c->n_muted && n < 400)
		snprintf(line + n, 400 - (size_t)n, " (and %" PRIu64 " such messages more)",
			 c->n_muted);
	c->next_log_ns = now + LOG_EVERY_NS;
	c->n_muted = 0;
	return true;
}

/* Without the lock. */
static void say(struct channel *c, const char *what)
{
	char line[400];
	bool told;

	pthread_mutex_lock(&c->lock);
	told = log_line(c, what, line);
	pthread_mutex_unlock(&c->lock);
	if (told)
		c->opt.log(c->opt.log_ctx, line);
}

static void pause_after_failure(struct channel *c, const struct sink_outcome *o)
{
	uint64_t ms = c->opt.retry_ms;

	ms <<= c->n_failures < DOUBLINGS_MAX ? c->n_failures : DOUBLINGS_MAX;
	ms = ms / 2 + random_below(ms + 1);
	if (o->retry_ms > 0 && ms < (uint64_t)o->retry_ms)
		ms = (uint64_t)o->retry_ms + random_below((uint64_t)o->retry_ms / 4 + 1);
	c->not_before_ns = clock_monotonic_ns() + ms * CLOCK_MS_NS;
	c->n_failures++;
	c->backlog = true;
}

static void settle_done(struct channel *c, struct export_item *i, const struct sink_outcome *o)
{
	c->stats.sent_items++;
	c->stats.sent_bytes += i->body.len;
	c->stats.sent_profiles += i->n_profiles - o->rejected_profiles;
	c->stats.rejected_profiles += o->rejected_profiles;
	c->n_failures = 0;
	c->stats.failing = false;
	c->backlog &= c->queue != NULL;
	if (c->backlog)
		c->not_before_ns =
			clock_monotonic_ns() + random_below(2 * BACKLOG_PAUSE_MS) * CLOCK_MS_NS;
	export_item_free(i);
}

static void settle(struct channel *c, struct export_item *i, struct sink_outcome *o)
{
	if (o->why[0])
		snprintf(c->stats.last_error, sizeof(c->stats.last_error), "%s", o->why);
	if (o->verdict == SINK_DOUBTFUL && i->tries >= DOUBTFUL_TRIES)
		o->verdict = SINK_NEVER;
	switch (o->verdict) {
	case SINK_DONE:
		settle_done(c, i, o);
		break;
	case SINK_NEVER:
		drop(c, i, EXPORT_DROP_REFUSED);
		break;
	default:
		c->stats.retries += i->tries > 1;
		c->stats.failing = true;
		pause_after_failure(c, o);
		enqueue(c, i, true);
		make_room(c);
		break;
	}
}

static bool is_too_old(const struct channel *c, const struct export_item *i)
{
	return clock_ns(CLOCK_BOOTTIME) > i->born_ns + c->opt.max_age_ns;
}

/* Wait for something to send, and for its time: NULL when there will be nothing more. */
static struct export_item *next_item(struct channel *c)
{
	for (;;) {
		struct timespec until;

		if (c->cancelled || (c->finishing && (!c->queue || c->stats.failing)))
			return NULL;
		if (!c->queue) {
			pthread_cond_wait(&c->changed, &c->lock);
		} else if (!c->finishing && clock_monotonic_ns() < c->not_before_ns) {
			until.tv_sec = (time_t)(c->not_before_ns / CLOCK_SECOND_NS);
			until.tv_nsec = (long)(c->not_before_ns % CLOCK_SECOND_NS);
			pthread_cond_timedwait(&c->changed, &c->lock, &until);
		} else if (is_too_old(c, c->queue)) {
			drop(c, dequeue(c), EXPORT_DROP_TOO_OLD);
		} else {
			return dequeue(c);
		}
	}
}

static void *run(void *arg)
{
	struct channel *c = arg;
	struct export_item *i;

	pthread_mutex_lock(&c->lock);
	while ((i = next_item(c))) {
		struct sink_outcome o = { .verdict = SINK_LATER };
		char line[400];
		bool told;

		pthread_mutex_unlock(&c->lock);
		i->tries++;
		c->opt.ops->send(c->opt.sink, i, &o);
		pthread_mutex_lock(&c->lock);
		settle(c, i, &o);
		told = o.why[0] && !c->cancelled && log_line(c, o.why, line);
		if (told) {
			pthread_mutex_unlock(&c->lock);
			c->opt.log(c->opt.log_ctx, line);
			pthread_mutex_lock(&c->lock);
		}
	}
	while ((i = dequeue(c)))
		drop(c, i, EXPORT_DROP_STOPPED);
	c->done = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

static int start(struct channel *c)
{
	pthread_condattr_t attr;
	sigset_t all, old;
	int r;

	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->changed, &attr);
	pthread_condattr_destroy(&attr);
	/* signals are for the others */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&c->thread, NULL, run, c);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	c->started = r == 0;
	return -r;
}

int channel_new(struct channel **out, const struct channel_options *opt)
{
	struct channel *c = calloc(1, sizeof(*c));
	int r;

	if (!c) {
		opt->ops->free(opt->sink);
		return -ENOMEM;
	}
	c->opt = *opt;
	if (!c->opt.retry_ms)
		c->opt.retry_ms = RETRY_MS;
	c->queue_end = &c->queue;
	snprintf(c->stats.name, sizeof(c->stats.name), "%s", opt->name);
	c->name = c->stats.name;
	r = start(c);
	if (r < 0) {
		channel_free(c);
		return r;
	}
	*out = c;
	return 0;
}

void channel_finish(struct channel *c)
{
	pthread_mutex_lock(&c->lock);
	c->finishing = true;
	/* one more attempt, whatever was before */
	c->stats.failing = false;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

void channel_join(struct channel *c, uint64_t deadline_ns)
{
	const struct timespec until = { .tv_sec = (time_t)(deadline_ns / CLOCK_SECOND_NS),
					.tv_nsec = (long)(deadline_ns % CLOCK_SECOND_NS) };
	int r = 0;

	if (!c->started || c->joined)
		return;
	pthread_mutex_lock(&c->lock);
	while (!c->done && r == 0)
		r = pthread_cond_timedwait(&c->changed, &c->lock, &until);
	if (!c->done) {
		c->cancelled = true;
		pthread_cond_broadcast(&c->changed);
		c->opt.ops->cancel(c->opt.sink);
	}
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	c->joined = true;
}

void channel_free(struct channel *c)
{
	if (!c)
		return;
	channel_join(c, 0);
	c->opt.ops->free(c->opt.sink);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

struct put {
	struct channel *c;
	const struct export_window *w;
};

static int emit(void *ctx, struct buf *body, uint32_t n_profiles)
{
	struct put *p = ctx;
	struct export_item *i = calloc(1, sizeof(*i));

	if (!i)
		return -ENOMEM;
	i->time_ns = p->w->end_ns;
	i->born_ns = clock_ns(CLOCK_BOOTTIME);
	i->n_profiles = n_profiles;
	i->body = *body;
	*body = (struct buf){ 0 };
	pthread_mutex_lock(&p->c->lock);
	enqueue(p->c, i, false);
	make_room(p->c);
	pthread_cond_broadcast(&p->c->changed);
	pthread_mutex_unlock(&p->c->lock);
	return 0;
}

void channel_put(struct channel *c, const struct export_window *w)
{
	struct put p = { c, w };

	if (c->opt.ops->encode(c->opt.sink, w, emit, &p) < 0) {
		channel_count_drop(c, EXPORT_DROP_NO_MEMORY);
		say(c, "no memory to write a window down");
	}
}

void channel_count_drop(struct channel *c, enum export_drop reason)
{
	pthread_mutex_lock(&c->lock);
	c->stats.dropped[reason]++;
	pthread_mutex_unlock(&c->lock);
}

void channel_stats(struct channel *c, struct export_sink_stats *out)
{
	pthread_mutex_lock(&c->lock);
	*out = c->stats;
	pthread_mutex_unlock(&c->lock);
}
