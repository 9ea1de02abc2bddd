/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One lock protects the queue and the statistics; nothing slow happens under it. The item being
 * sent belongs to the thread and is in no queue, so an item dropped for lack of room is never
 * the current one.
 *
 * With a spool, memory holds only items that are sent immediately. After a failure, and when the
 * queue is full, items go to disk, which is then emptied before memory.
 *
 * Verdicts. LATER is retried without a limit of tries, only of age, since an outage may last for
 * days. So is DENIED: a token that was renewed too late must not cost the profiles of an hour; the
 * first refusal is logged at once, whatever was logged before. DOUBTFUL (status 500, gRPC UNKNOWN)
 * may be the item's own fault, so it is dropped after DOUBTFUL_TRIES: one profile that crashes a
 * server must not block all others behind it. For spooled items, only the tries of the item read
 * last are counted, and a restart resets that count. Age is measured by CLOCK_BOOTTIME, which
 * neither a changed clock nor suspension confuses.
 */
#include "export/channel.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "export/item_queue.h"
#include "export/rare_log.h"
#include "export/retry_pause.h"
#include "export/sink.h"
#include "export/spool.h"
#include "export/window.h"

enum {
	RETRY_MS = 1000,
	DOUBTFUL_TRIES = 8,
};

/*
 * opt and name are constant. The members after lock are guarded by it, except spool_seq and
 * spool_tries, which only the thread uses.
 */
struct channel {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	bool started, joined;
	struct channel_options opt;
	char *name;

	struct item_queue queue;
	struct export_sink_stats stats;
	size_t n_sending, sending_bytes; /* 0 or 1, and the size of that item */
	unsigned int n_failures;         /* consecutive */
	bool backlog;                    /* the queue has not been empty since the last failure */
	uint64_t not_before_ns;          /* CLOCK_MONOTONIC */
	bool finishing, cancelled;       /* no pauses; no more sends */
	bool done;
	uint64_t spool_seq;   /* the item read last from the spool, */
	uint32_t spool_tries; /* and its number of attempts */
	struct rare_log log;
	bool denied;       /* the last attempt was refused for its credentials */
	struct buf report; /* not sent yet; empty: none */
};

/* The following functions require the lock unless their comment says otherwise. */

static void count_drop(struct channel *c, enum export_drop reason, uint64_t n_profiles)
{
	c->stats.dropped[reason]++;
	if (reason == EXPORT_DROP_STOPPED)
		c->stats.unsent_profiles += n_profiles;
}

static void drop(struct channel *c, struct export_item *i, enum export_drop reason)
{
	count_drop(c, reason, i->n_profiles);
	export_item_free(i);
}

/* Drops from the front: the newest profiles are the most useful ones. */
static void make_room(struct channel *c)
{
	while (c->queue.first && c->queue.bytes + c->sending_bytes > c->opt.queue_bytes)
		drop(c, item_queue_pop(&c->queue), EXPORT_DROP_QUEUE_FULL);
}

static uint64_t total_drops(const struct channel *c)
{
	uint64_t n = 0;

	for (size_t i = 0; i < EXPORT_DROP_MAX; i++)
		n += c->stats.dropped[i];
	return n;
}

/* The number of spooled items of this sink. Requires the lock. */
static uint64_t n_spooled(const struct channel *c)
{
	struct spool_usage u = { 0 };

	if (c->opt.spool)
		spool_usage(c->opt.spool, c->opt.spool_sink, &u);
	return u.unclaimed;
}

/* Formats a log line if one is due. */
static bool log_line(struct channel *c, const char *what, char line[RARE_LOG_LINE_MAX])
{
	const struct rare_log_state state = {
		.n_waiting = c->queue.n + n_spooled(c),
		.n_dropped = total_drops(c),
	};

	if (!c->opt.log || !rare_log_is_due(&c->log))
		return false;
	rare_log_format(&c->log, c->name, what, &state, line);
	return true;
}

/* Without the lock. */
static void say(struct channel *c, const char *what)
{
	char line[RARE_LOG_LINE_MAX];
	bool logged;

	pthread_mutex_lock(&c->lock);
	logged = !c->cancelled && log_line(c, what, line);
	pthread_mutex_unlock(&c->lock);
	if (logged)
		c->opt.log(c->opt.log_ctx, line);
}

/* Without the lock. */
static void say_denied(struct channel *c, const char *why)
{
	char text[300];

	snprintf(text, sizeof(text),
		 "ERROR: the receiver refuses the credentials (%s): renew the token or password; "
		 "profiles are kept and sent again",
		 why);
	say(c, text);
}

static void pause_after_failure(struct channel *c, const struct sink_outcome *o)
{
	uint64_t ms = retry_pause_ms(c->opt.retry_ms, c->n_failures, o->retry_ms);

	c->not_before_ns = clock_monotonic_ns() + ms * CLOCK_MS_NS;
	c->n_failures++;
	c->backlog = true;
}

/* Writes an item to the spool, without the lock. False: it is not on disk. */
static bool keep_on_disk(struct channel *c, const struct export_item *i)
{
	int r;

	if (i->seq) {
		spool_release(c->opt.spool, c->opt.spool_sink, i->seq);
		return true;
	}
	if (!c->opt.spool)
		return false;
	r = spool_put(c->opt.spool, c->opt.spool_sink, i);
	if (r == 0)
		return true;
	pthread_mutex_lock(&c->lock);
	c->stats.spool_errors++;
	snprintf(c->stats.last_error, sizeof(c->stats.last_error), "spool: %s", strerror(-r));
	pthread_mutex_unlock(&c->lock);
	say(c, r == -ENOSPC ? "the file system of the spool is full" : "cannot write to the spool");
	return false;
}

/*
 * Moves as many items of the queue as possible to the spool, without the lock. On the first failure
 * the item returns to the front of the queue and the rest stays in memory.
 */
static void spill(struct channel *c)
{
	struct export_item *i;
	bool kept = true;

	while (kept) {
		pthread_mutex_lock(&c->lock);
		i = item_queue_pop(&c->queue);
		pthread_mutex_unlock(&c->lock);
		if (!i)
			break;
		kept = keep_on_disk(c, i);
		if (kept) {
			export_item_free(i);
			continue;
		}
		pthread_mutex_lock(&c->lock);
		item_queue_put_first(&c->queue, i);
		make_room(c);
		pthread_mutex_unlock(&c->lock);
	}
}

/* The backlog ends when neither queue nor spool has an item. */
static void settle_done(struct channel *c, const struct export_item *i,
			const struct sink_outcome *o)
{
	c->stats.sent_items++;
	c->stats.sent_bytes += i->body.len;
	c->stats.sent_profiles += i->n_profiles - o->rejected_profiles;
	c->stats.rejected_profiles += o->rejected_profiles;
	c->n_failures = 0;
	c->denied = false;
	c->stats.failing = false;
	c->backlog &= c->queue.first || n_spooled(c);
	if (c->backlog)
		c->not_before_ns = clock_monotonic_ns() + retry_pause_backlog_ms() * CLOCK_MS_NS;
}

static void settle_later(struct channel *c, const struct sink_outcome *o)
{
	if (o->verdict == SINK_DENIED) {
		c->stats.denied++;
		if (!c->denied)
			rare_log_make_due(&c->log);
	}
	c->denied = o->verdict == SINK_DENIED;
	c->stats.failing = true;
	pause_after_failure(c, o);
}

/*
 * Takes ownership of @i. Without the lock. Disk operations come before the lock is held: while an
 * item is being written it belongs to this thread only.
 */
static void settle(struct channel *c, struct export_item *i, struct sink_outcome *o)
{
	bool kept = false, later;

	if (o->verdict == SINK_DOUBTFUL && i->tries >= DOUBTFUL_TRIES)
		o->verdict = SINK_NEVER;
	later = o->verdict != SINK_DONE && o->verdict != SINK_NEVER;
	if (later)
		kept = keep_on_disk(c, i);
	else if (i->seq)
		spool_remove(c->opt.spool, c->opt.spool_sink, i->seq);
	pthread_mutex_lock(&c->lock);
	c->n_sending = c->sending_bytes = 0;
	if (o->why[0])
		snprintf(c->stats.last_error, sizeof(c->stats.last_error), "%s", o->why);
	if (o->verdict == SINK_DONE)
		settle_done(c, i, o);
	else if (later)
		settle_later(c, o);
	else
		c->stats.dropped[EXPORT_DROP_REFUSED]++;
	if (later && !kept) {
		item_queue_put_first(&c->queue, i);
		make_room(c);
		i = NULL;
	}
	pthread_mutex_unlock(&c->lock);
	export_item_free(i);
	if (later && kept)
		spill(c);
}

static bool is_too_old(const struct channel *c, const struct export_item *i)
{
	return (int64_t)clock_ns(CLOCK_BOOTTIME) - i->born_ns > (int64_t)c->opt.max_age_ns;
}

/*
 * Waits, with the lock, until an item is due. False: the thread should end. While finishing, one
 * failure is enough to stop.
 */
static bool wait_for_work(struct channel *c)
{
	for (;;) {
		bool work = c->queue.first || n_spooled(c);

		if (c->cancelled || (c->finishing && (!work || c->stats.failing)))
			return false;
		if (!work) {
			pthread_cond_wait(&c->changed, &c->lock);
		} else if (!c->finishing && clock_monotonic_ns() < c->not_before_ns) {
			thread_wait_until(&c->changed, &c->lock, c->not_before_ns);
		} else {
			return true;
		}
	}
}

/* Claims the next item of the spool, without the lock; NULL: none can be read. */
static struct export_item *take_spooled(struct channel *c)
{
	struct export_item *i = NULL;

	if (!c->opt.spool || spool_claim(c->opt.spool, c->opt.spool_sink, &i) < 0)
		return NULL;
	if (i->seq != c->spool_seq)
		c->spool_tries = 0;
	c->spool_seq = i->seq;
	i->tries = c->spool_tries++;
	return i;
}

/* Takes the oldest item that has not expired, without the lock; NULL: there is none. */
static struct export_item *next_item(struct channel *c)
{
	for (;;) {
		struct export_item *i = take_spooled(c);
		bool expired;

		pthread_mutex_lock(&c->lock);
		if (!i) {
			i = item_queue_pop(&c->queue);
			c->n_sending = i != NULL;
			c->sending_bytes = i ? item_queue_bytes(i) : 0;
		}
		expired = i && is_too_old(c, i);
		if (expired) {
			c->stats.dropped[EXPORT_DROP_TOO_OLD]++;
			c->n_sending = c->sending_bytes = 0;
		}
		pthread_mutex_unlock(&c->lock);
		if (!expired)
			return i;
		if (i->seq)
			spool_remove(c->opt.spool, c->opt.spool_sink, i->seq);
		export_item_free(i);
	}
}

/* Pauses if the spool has items that cannot be read now, for lack of memory or descriptors. */
static void pause_if_stuck(struct channel *c)
{
	static const struct sink_outcome none;

	pthread_mutex_lock(&c->lock);
	if (!c->queue.first && n_spooled(c)) {
		c->stats.failing = true;
		pause_after_failure(c, &none);
	}
	pthread_mutex_unlock(&c->lock);
}

/* Called after a success only, so a report never delays profiles during an outage. */
static void send_report(struct channel *c)
{
	_cleanup_(buf_fini) struct buf report = { 0 };

	pthread_mutex_lock(&c->lock);
	if (!c->cancelled) {
		report = c->report;
		c->report = (struct buf){ 0 };
	}
	pthread_mutex_unlock(&c->lock);
	if (report.len)
		c->opt.ops->report(c->opt.sink, &report);
}

static void count_retry(struct channel *c)
{
	pthread_mutex_lock(&c->lock);
	c->stats.retries++;
	pthread_mutex_unlock(&c->lock);
}

static void send_one(struct channel *c)
{
	struct sink_outcome o = { .verdict = SINK_LATER };
	struct export_item *i = next_item(c);

	if (!i) {
		pause_if_stuck(c);
		return;
	}
	if (i->tries++)
		count_retry(c);
	c->opt.ops->send(c->opt.sink, i, &o);
	settle(c, i, &o);
	if (o.verdict == SINK_DONE)
		send_report(c);
	if (o.verdict == SINK_DENIED)
		say_denied(c, o.why);
	else if (o.why[0])
		say(c, o.why);
}

/*
 * Spools or drops the remaining items at the end. Items claimed from the spool are released, so
 * that the next process sends them.
 */
static void put_away(struct channel *c)
{
	struct export_item *i;

	if (c->opt.spool)
		spill(c);
	pthread_mutex_lock(&c->lock);
	while ((i = item_queue_pop(&c->queue)))
		drop(c, i, EXPORT_DROP_STOPPED);
	c->done = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

static void *run(void *arg)
{
	struct channel *c = arg;
	bool work;

	do {
		pthread_mutex_lock(&c->lock);
		work = wait_for_work(c);
		pthread_mutex_unlock(&c->lock);
		if (work)
			send_one(c);
	} while (work);
	put_away(c);
	return NULL;
}

/* The condition uses CLOCK_MONOTONIC, so setting the clock does not lengthen a pause. */
static int start(struct channel *c)
{
	int r;

	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	r = thread_start(&c->thread, run, c);
	c->started = r == 0;
	return r;
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
	item_queue_init(&c->queue);
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
	/* One more attempt, without the pause after earlier failures. */
	c->stats.failing = false;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

void channel_join(struct channel *c, uint64_t deadline_ns)
{
	int r = 0;

	if (!c->started || c->joined)
		return;
	pthread_mutex_lock(&c->lock);
	while (!c->done && r == 0)
		r = thread_wait_until(&c->changed, &c->lock, deadline_ns);
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
	buf_fini(&c->report);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

struct put {
	struct channel *c;
	const struct export_window *w;
};

/* Takes ownership of @i. Without the lock. */
static void queue_item(struct channel *c, struct export_item *i)
{
	bool to_disk;

	pthread_mutex_lock(&c->lock);
	to_disk = c->opt.spool &&
		  (c->stats.failing ||
		   c->queue.bytes + c->sending_bytes + item_queue_bytes(i) > c->opt.queue_bytes);
	pthread_mutex_unlock(&c->lock);
	if (to_disk && keep_on_disk(c, i)) {
		export_item_free(i);
		i = NULL;
	}
	pthread_mutex_lock(&c->lock);
	if (i) {
		item_queue_put(&c->queue, i);
		make_room(c);
	}
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

/* Takes the body out of @body, which the encoder reuses for the next item. */
static int emit(void *ctx, struct buf *body, uint32_t n_profiles)
{
	struct put *p = ctx;
	struct export_item *i = calloc(1, sizeof(*i));

	if (!i)
		return -ENOMEM;
	i->time_ns = p->w->start_ns;
	i->born_ns = (int64_t)clock_ns(CLOCK_BOOTTIME);
	i->n_profiles = n_profiles;
	i->body = *body;
	*body = (struct buf){ 0 };
	queue_item(p->c, i);
	return 0;
}

void channel_put(struct channel *c, const struct export_window *w)
{
	struct put p = { c, w };

	if (c->opt.ops->encode(c->opt.sink, w, emit, &p) < 0) {
		channel_count_drop(c, EXPORT_DROP_NO_MEMORY, w->series.len);
		say(c, "out of memory while encoding a window");
	}
}

void channel_report(struct channel *c, const struct buf *report)
{
	if (!c->opt.ops->report)
		return;
	pthread_mutex_lock(&c->lock);
	c->report.len = 0;
	buf_put(&c->report, report->data, report->len);
	pthread_mutex_unlock(&c->lock);
}

void channel_count_drop(struct channel *c, enum export_drop reason, uint64_t n_profiles)
{
	pthread_mutex_lock(&c->lock);
	count_drop(c, reason, n_profiles);
	pthread_mutex_unlock(&c->lock);
}

void channel_stats(struct channel *c, struct export_sink_stats *out)
{
	struct spool_usage u;

	pthread_mutex_lock(&c->lock);
	*out = c->stats;
	out->queued_items = c->queue.n + c->n_sending;
	out->queued_bytes = c->queue.bytes + c->sending_bytes;
	pthread_mutex_unlock(&c->lock);
	if (!c->opt.spool)
		return;
	spool_usage(c->opt.spool, c->opt.spool_sink, &u);
	out->spooled_items = u.items;
	out->spooled_bytes = u.bytes;
	out->dropped[EXPORT_DROP_SPOOL_FULL] = u.evicted;
	out->dropped[EXPORT_DROP_DAMAGED] = u.damaged;
}
