/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels to a toy sink, which stores what it is sent, answers by a script, and can be made to
 * block inside send() until the test lets it continue.
 */
#include "export/channel.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../codec/fixture.h"
#include "../symbol/tempdir.h"
#include "base/clock.h"
#include "export/sink.h"
#include "export/spool.h"
#include "export/window.h"
#include "tests/test.h"

enum { SENDS_MAX = 64, SINK = 7, LIMIT_S = 100, HOUR_MS = 3600000 };

struct toy {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* The verdicts of the first sends; the last one is repeated. */
	const enum sink_verdict *verdicts;
	size_t n_verdicts;
	int64_t retry_ms;
	uint64_t rejected;
	bool blocked, cancelled, freed;
	int encode_with;
	size_t n_sends, n_reports;
	int sent[SENDS_MAX]; /* the numbers of the items */
	uint32_t tries[SENDS_MAX];
	uint64_t begun_ns[SENDS_MAX];
	char log[1024], report[32];

	struct channel *c;
	struct channel_options opt;
	struct export_sink_stats stats;
};

/* The body of an item is the start of its window as text. */
static int toy_encode(void *sink, const struct export_window *w, sink_emit_fn emit, void *ctx)
{
	struct toy *t = sink;
	struct buf body = { 0 };
	int r;

	if (t->encode_with)
		return t->encode_with;
	buf_printf(&body, "%d", (int)w->start_ns);
	r = emit(ctx, &body, (uint32_t)w->series.len);
	buf_fini(&body);
	return r;
}

static void toy_send(void *sink, const struct export_item *item, struct sink_outcome *out)
{
	struct toy *t = sink;
	char text[16] = "";
	size_t n;

	assert_int_equal(out->verdict, SINK_LATER);
	assert_true(item->body.len < sizeof(text));
	memcpy(text, item->body.data, item->body.len);
	pthread_mutex_lock(&t->lock);
	n = t->n_sends++;
	assert_true(n < SENDS_MAX);
	t->sent[n] = (int)strtol(text, NULL, 10);
	t->tries[n] = item->tries;
	t->begun_ns[n] = clock_monotonic_ns();
	pthread_cond_broadcast(&t->changed);
	while (t->blocked && !t->cancelled)
		pthread_cond_wait(&t->changed, &t->lock);
	out->verdict = t->verdicts[n < t->n_verdicts ? n : t->n_verdicts - 1];
	if (t->cancelled)
		out->verdict = SINK_LATER;
	out->retry_ms = t->retry_ms;
	out->rejected_profiles = t->rejected;
	if (out->verdict != SINK_DONE)
		sink_end(out, out->verdict, "send %zu failed", n);
	pthread_mutex_unlock(&t->lock);
}

static void toy_report(void *sink, const struct buf *report)
{
	struct toy *t = sink;

	pthread_mutex_lock(&t->lock);
	t->n_reports++;
	snprintf(t->report, sizeof(t->report), "%.*s", (int)report->len, (char *)report->data);
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

static void toy_cancel(void *sink)
{
	struct toy *t = sink;

	pthread_mutex_lock(&t->lock);
	t->cancelled = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

static void toy_free(void *sink)
{
	struct toy *t = sink;

	t->freed = true;
}

static const struct sink_ops toy_ops = { .name = "toy",
					 .encode = toy_encode,
					 .send = toy_send,
					 .report = toy_report,
					 .cancel = toy_cancel,
					 .free = toy_free };

static void on_log(void *ctx, const char *message)
{
	struct toy *t = ctx;

	pthread_mutex_lock(&t->lock);
	snprintf(t->log + strlen(t->log), sizeof(t->log) - strlen(t->log), "%s\n", message);
	pthread_mutex_unlock(&t->lock);
}

static void prepare(struct toy *t, const enum sink_verdict *verdicts, size_t n)
{
	*t = (struct toy){ .verdicts = verdicts, .n_verdicts = n };
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	t->opt = (struct channel_options){ .ops = &toy_ops,
					   .sink = t,
					   .name = "toy box",
					   .queue_bytes = 1 << 20,
					   .max_age_ns = 3600ULL * CLOCK_SECOND_NS,
					   .retry_ms = 1,
					   .log = on_log,
					   .log_ctx = t };
}

static void begin(struct toy *t)
{
	assert_int_equal(channel_new(&t->c, &t->opt), 0);
}

static void put(struct toy *t, int number)
{
	_cleanup_(export_window_freep) struct export_window *w = NULL;

	assert_int_equal(export_window_new(&w, number, number + 1), 0);
	assert_int_equal(export_window_add(w, fixture_small(), NULL, 0), 0);
	assert_int_equal(export_window_add(w, fixture_small(), NULL, 0), 0);
	channel_put(t->c, w);
}

/* Waits for the toy; @n points to a counter of it. */
static void wait_for(struct toy *t, const size_t *n, size_t least)
{
	struct timespec until;
	int r = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LIMIT_S;
	pthread_mutex_lock(&t->lock);
	while (*n < least && r == 0)
		r = pthread_cond_timedwait(&t->changed, &t->lock, &until);
	pthread_mutex_unlock(&t->lock);
	assert_int_equal(r, 0);
}

static void unblock(struct toy *t)
{
	pthread_mutex_lock(&t->lock);
	t->blocked = false;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

static uint64_t in_seconds(int seconds)
{
	return clock_monotonic_ns() + (uint64_t)seconds * CLOCK_SECOND_NS;
}

/* Finishes the channel, reads its statistics and frees it. */
static void end(struct toy *t)
{
	channel_finish(t->c);
	channel_join(t->c, in_seconds(LIMIT_S));
	channel_stats(t->c, &t->stats);
	assert_false(t->freed);
	channel_free(t->c);
	assert_true(t->freed);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
}

static void assert_sent(const struct toy *t, const int *want, size_t n)
{
	assert_int_equal(t->n_sends, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(t->sent[i], want[i]);
}

static const enum sink_verdict done[] = { SINK_DONE };

static void items_are_sent_once_and_in_order(void **state)
{
	static const int want[] = { 1, 2, 3 };
	struct toy t;

	prepare(&t, done, 1);
	t.rejected = 1;
	begin(&t);
	for (int i = 1; i <= 3; i++)
		put(&t, i);
	end(&t);
	assert_sent(&t, want, 3);
	assert_string_equal(t.stats.name, "toy box");
	assert_int_equal(t.stats.sent_items, 3);
	assert_int_equal(t.stats.sent_bytes, 3);
	assert_int_equal(t.stats.sent_profiles, 3);
	assert_int_equal(t.stats.rejected_profiles, 3);
	assert_int_equal(t.stats.queued_items + t.stats.queued_bytes + t.stats.retries, 0);
	assert_string_equal(t.log, "");
}

static void an_item_is_retried_before_the_next_one(void **state)
{
	static const enum sink_verdict verdicts[] = { SINK_LATER, SINK_LATER, SINK_DONE };
	static const int want[] = { 1, 1, 1, 2 };
	struct toy t;

	prepare(&t, verdicts, 3);
	begin(&t);
	put(&t, 1);
	put(&t, 2);
	wait_for(&t, &t.n_sends, 4);
	end(&t);
	assert_sent(&t, want, 4);
	assert_int_equal(t.tries[2], 3);
	assert_int_equal(t.stats.retries, 2);
	assert_false(t.stats.failing);
	assert_string_equal(t.stats.last_error, "send 1 failed");
	/* At most one line per minute. */
	assert_non_null(strstr(t.log, "toy box: send 0 failed"));
	assert_null(strstr(t.log, "send 1"));
}

static void an_item_that_is_refused_does_not_stop_the_next_one(void **state)
{
	static const enum sink_verdict verdicts[] = { SINK_NEVER, SINK_DONE };
	static const int want[] = { 1, 2 };
	struct toy t;

	prepare(&t, verdicts, 2);
	begin(&t);
	put(&t, 1);
	put(&t, 2);
	end(&t);
	assert_sent(&t, want, 2);
	assert_int_equal(t.stats.dropped[EXPORT_DROP_REFUSED], 1);
	assert_int_equal(t.stats.sent_items, 1);
}

static void a_doubtful_item_is_dropped_after_eight_attempts(void **state)
{
	static const enum sink_verdict verdicts[] = {
		SINK_DOUBTFUL, SINK_DOUBTFUL, SINK_DOUBTFUL, SINK_DOUBTFUL, SINK_DOUBTFUL,
		SINK_DOUBTFUL, SINK_DOUBTFUL, SINK_DOUBTFUL, SINK_DONE,
	};
	static const int want[] = { 1, 1, 1, 1, 1, 1, 1, 1, 2 };
	struct toy t;

	prepare(&t, verdicts, 9);
	begin(&t);
	put(&t, 1);
	put(&t, 2);
	wait_for(&t, &t.n_sends, 9);
	end(&t);
	assert_sent(&t, want, 9);
	assert_int_equal(t.stats.dropped[EXPORT_DROP_REFUSED], 1);
}

static void the_newest_items_stay_in_a_full_queue(void **state)
{
	/* An item takes one byte and an overhead of 128; one is being sent. */
	static const int want[] = { 1, 7, 8, 9 };
	struct toy t;

	prepare(&t, done, 1);
	t.blocked = true;
	t.opt.queue_bytes = 4 * 129;
	begin(&t);
	put(&t, 1);
	wait_for(&t, &t.n_sends, 1);
	for (int i = 2; i <= 9; i++)
		put(&t, i);
	channel_stats(t.c, &t.stats);
	assert_int_equal(t.stats.queued_items, 4);
	assert_int_equal(t.stats.queued_bytes, 4 * 129);
	assert_int_equal(t.stats.dropped[EXPORT_DROP_QUEUE_FULL], 5);
	unblock(&t);
	end(&t);
	assert_sent(&t, want, 4);
}

static void an_item_larger_than_the_queue_is_dropped(void **state)
{
	struct toy t;

	prepare(&t, done, 1);
	t.opt.queue_bytes = 128;
	begin(&t);
	put(&t, 1);
	end(&t);
	assert_int_equal(t.n_sends, 0);
	assert_int_equal(t.stats.dropped[EXPORT_DROP_QUEUE_FULL], 1);
}

static void items_that_waited_too_long_are_not_sent(void **state)
{
	struct toy t;

	prepare(&t, done, 1);
	t.opt.max_age_ns = 0;
	begin(&t);
	put(&t, 1);
	put(&t, 2);
	end(&t);
	assert_int_equal(t.n_sends, 0);
	assert_int_equal(t.stats.dropped[EXPORT_DROP_TOO_OLD], 2);
}

static void a_window_that_cannot_be_encoded_is_counted(void **state)
{
	struct toy t;

	prepare(&t, done, 1);
	t.encode_with = -ENOMEM;
	begin(&t);
	put(&t, 1);
	channel_count_drop(t.c, EXPORT_DROP_STOPPED, 5);
	end(&t);
	assert_int_equal(t.stats.dropped[EXPORT_DROP_NO_MEMORY], 1);
	assert_int_equal(t.stats.dropped[EXPORT_DROP_STOPPED], 1);
	assert_int_equal(t.stats.unsent_profiles, 5);
	assert_string_equal(t.log, "toy box: out of memory while encoding a window; 1 dropped so "
				   "far\n");
}

static void a_sink_that_hangs_is_cancelled_at_the_deadline(void **state)
{
	struct toy t;

	prepare(&t, done, 1);
	t.blocked = true;
	begin(&t);
	put(&t, 1);
	put(&t, 2);
	wait_for(&t, &t.n_sends, 1);
	channel_join(t.c, 0);
	end(&t);
	assert_true(t.cancelled);
	assert_int_equal(t.n_sends, 1);
	assert_int_equal(t.stats.dropped[EXPORT_DROP_STOPPED], 2);
	assert_int_equal(t.stats.unsent_profiles, 4);
	assert_int_equal(t.stats.queued_items + t.stats.queued_bytes, 0);
}

static void finishing_does_not_wait_for_the_end_of_a_pause(void **state)
{
	static const enum sink_verdict verdicts[] = { SINK_LATER, SINK_DONE };
	static const int want[] = { 1, 1, 2 };
	struct toy t;

	prepare(&t, verdicts, 2);
	t.opt.retry_ms = HOUR_MS;
	begin(&t);
	put(&t, 1);
	wait_for(&t, &t.n_sends, 1);
	put(&t, 2);
	end(&t);
	assert_sent(&t, want, 3);
}

static void a_failure_while_finishing_ends_it(void **state)
{
	static const enum sink_verdict verdicts[] = { SINK_LATER };
	struct toy t;

	prepare(&t, verdicts, 1);
	t.blocked = true;
	begin(&t);
	for (int i = 1; i <= 3; i++)
		put(&t, i);
	wait_for(&t, &t.n_sends, 1);
	channel_finish(t.c);
	unblock(&t);
	channel_join(t.c, in_seconds(LIMIT_S));
	assert_false(t.cancelled);
	end(&t);
	assert_int_equal(t.n_sends, 1);
	assert_int_equal(t.stats.dropped[EXPORT_DROP_STOPPED], 3);
}

static void a_pause_that_the_sink_requests_is_not_shortened(void **state)
{
	static const enum sink_verdict verdicts[] = { SINK_LATER, SINK_DONE };
	struct toy t;

	prepare(&t, verdicts, 2);
	t.retry_ms = 50;
	begin(&t);
	put(&t, 1);
	wait_for(&t, &t.n_sends, 2);
	end(&t);
	assert_true(t.begun_ns[1] - t.begun_ns[0] >= 50 * CLOCK_MS_NS);
	assert_int_equal(t.stats.sent_items, 1);
}

static void put_report(struct toy *t, const char *text)
{
	struct buf b = { 0 };

	buf_put_str(&b, text);
	channel_report(t->c, &b);
	buf_fini(&b);
}

static void only_the_newest_report_follows_a_delivered_item(void **state)
{
	static const enum sink_verdict verdicts[] = { SINK_LATER, SINK_DONE };
	struct toy t;

	prepare(&t, verdicts, 2);
	begin(&t);
	put_report(&t, "old");
	put_report(&t, "new");
	put(&t, 1);
	wait_for(&t, &t.n_reports, 1);
	put(&t, 2);
	end(&t);
	assert_int_equal(t.n_sends, 3);
	assert_int_equal(t.n_reports, 1);
	assert_string_equal(t.report, "new");
}

static void sinks_without_reports_ignore_them(void **state)
{
	struct sink_ops ops = toy_ops;
	struct toy t;

	prepare(&t, done, 1);
	ops.report = NULL;
	t.opt.ops = &ops;
	begin(&t);
	put_report(&t, "x");
	put(&t, 1);
	end(&t);
	assert_int_equal(t.stats.sent_items, 1);
}

/* ---- With a spool ----------------------------------------------------------------- */

static struct spool *open_spool(const char *dir)
{
	struct spool *s;

	assert_int_equal(spool_open(&s, dir, 1 << 20, NULL), 0);
	return s;
}

static void prepare_spooled(struct toy *t, struct spool *s, const enum sink_verdict *verdicts,
			    size_t n)
{
	prepare(t, verdicts, n);
	t->opt.spool = s;
	t->opt.spool_sink = SINK;
}

static void undelivered_items_are_sent_by_the_next_channel(void **state)
{
	static const enum sink_verdict later[] = { SINK_LATER };
	static const int want[] = { 1, 2, 3, 4 };
	struct spool *spool = open_spool(*state);
	struct toy t;

	prepare_spooled(&t, spool, later, 1);
	t.opt.retry_ms = HOUR_MS;
	begin(&t);
	for (int i = 1; i <= 3; i++)
		put(&t, i);
	end(&t);
	assert_int_equal(t.stats.spooled_items, 3);
	assert_int_equal(t.stats.dropped[EXPORT_DROP_STOPPED], 0);
	spool_close(spool);
	spool = open_spool(*state);
	prepare_spooled(&t, spool, done, 1);
	begin(&t);
	wait_for(&t, &t.n_sends, 3);
	put(&t, 4);
	end(&t);
	assert_sent(&t, want, 4);
	assert_int_equal(t.stats.spooled_items, 0);
	assert_int_equal(t.stats.sent_profiles, 8);
	spool_close(spool);
}

static void a_full_queue_overflows_to_disk_and_drops_nothing(void **state)
{
	struct spool *spool = open_spool(*state);
	bool seen[10] = { false };
	struct toy t;

	prepare_spooled(&t, spool, done, 1);
	t.blocked = true;
	t.opt.queue_bytes = 2 * 129;
	begin(&t);
	put(&t, 1);
	wait_for(&t, &t.n_sends, 1);
	for (int i = 2; i <= 9; i++)
		put(&t, i);
	channel_stats(t.c, &t.stats);
	assert_int_equal(t.stats.queued_bytes, 2 * 129);
	assert_int_equal(t.stats.queued_items + t.stats.spooled_items, 9);
	unblock(&t);
	end(&t);
	assert_int_equal(t.n_sends, 9);
	for (int i = 0; i < 9; i++)
		seen[t.sent[i]] = true;
	for (int i = 1; i <= 9; i++)
		assert_true(seen[i]);
	spool_close(spool);
}

static void a_doubtful_item_of_the_spool_is_dropped_as_well(void **state)
{
	static const enum sink_verdict doubtful[] = { SINK_DOUBTFUL };
	struct spool *spool = open_spool(*state);
	const uint64_t limit = in_seconds(LIMIT_S);
	struct toy t;

	prepare_spooled(&t, spool, doubtful, 1);
	begin(&t);
	put(&t, 1);
	while (!t.stats.dropped[EXPORT_DROP_REFUSED] && clock_monotonic_ns() < limit) {
		usleep(1000);
		channel_stats(t.c, &t.stats);
	}
	end(&t);
	/* The attempt from memory is not counted. */
	assert_int_equal(t.n_sends, 9);
	assert_int_equal(t.stats.dropped[EXPORT_DROP_REFUSED], 1);
	assert_int_equal(t.stats.spooled_items, 0);
	spool_close(spool);
}

static void memory_is_used_where_the_spool_fails(void **state)
{
	static const enum sink_verdict verdicts[] = { SINK_LATER, SINK_DONE };
	static const int want[] = { 1, 1 };
	struct spool *spool = open_spool(*state);
	char elsewhere[128];
	struct toy t;

	/* Nothing can be created in a directory that was removed. */
	snprintf(elsewhere, sizeof(elsewhere), "rm -r '%.100s'", (char *)*state);
	assert_int_equal(system(elsewhere), 0);
	prepare_spooled(&t, spool, verdicts, 2);
	begin(&t);
	put(&t, 1);
	wait_for(&t, &t.n_sends, 2);
	end(&t);
	assert_sent(&t, want, 2);
	assert_int_equal(t.stats.spool_errors, 1);
	assert_int_equal(t.stats.sent_items, 1);
	assert_non_null(strstr(t.log, "toy box: cannot write to the spool"));
	spool_close(spool);
}

#define SPOOLED(f) cmocka_unit_test_setup_teardown(f, tempdir_make, tempdir_remove)

TEST_GROUP(test_channel, TEST(items_are_sent_once_and_in_order),
	   TEST(an_item_is_retried_before_the_next_one),
	   TEST(an_item_that_is_refused_does_not_stop_the_next_one),
	   TEST(a_doubtful_item_is_dropped_after_eight_attempts),
	   TEST(the_newest_items_stay_in_a_full_queue),
	   TEST(an_item_larger_than_the_queue_is_dropped),
	   TEST(items_that_waited_too_long_are_not_sent),
	   TEST(a_window_that_cannot_be_encoded_is_counted),
	   TEST(a_sink_that_hangs_is_cancelled_at_the_deadline),
	   TEST(finishing_does_not_wait_for_the_end_of_a_pause),
	   TEST(a_failure_while_finishing_ends_it),
	   TEST(a_pause_that_the_sink_requests_is_not_shortened),
	   TEST(only_the_newest_report_follows_a_delivered_item),
	   TEST(sinks_without_reports_ignore_them),
	   SPOOLED(undelivered_items_are_sent_by_the_next_channel),
	   SPOOLED(a_full_queue_overflows_to_disk_and_drops_nothing),
	   SPOOLED(a_doubtful_item_of_the_spool_is_dropped_as_well),
	   SPOOLED(memory_is_used_where_the_spool_fails))
