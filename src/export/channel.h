/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The queue of one sink and the thread that sends its items: one at a time, oldest first, each
 * until the sink accepts it or rejects it permanently. While the sink is unavailable the thread
 * backs off, and the queue moves to the spool if there is one. All functions may be called from any
 * thread. An item is sent at least once: after a lost response it is sent again, and the receiver
 * recognizes the profile's id or counts it twice.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "export/export.h"

struct channel;
struct spool;

struct channel_options {
	const struct sink_ops *ops;
	void *sink; /* owned by the channel, also after a failure */
	const char *name;
	struct spool *spool; /* must outlive the channel; NULL: none */
	uint32_t spool_sink;
	size_t queue_bytes;    /* limit of items in memory */
	uint64_t max_age_ns;   /* older items are dropped */
	unsigned int retry_ms; /* first pause after a failure; doubles up to 64 times this */
	void (*log)(void *ctx, const char *message);
	void *log_ctx;
};

/*
 * Strings are copied. Returns 0, -ENOMEM, or -EAGAIN if no thread can be started. @opt->ops, log
 * and spool must outlive the channel. The thread starts at once.
 */
int channel_new(struct channel **out, const struct channel_options *opt);
void channel_free(struct channel *c);

DEFINE_FREEP(struct channel, channel_free)

/*
 * Encodes the window as items of this sink and queues them. @w remains the caller's. It may write
 * to the spool, but never waits for the back end. Call it from one thread at a time, because
 * encode() requires that.
 */
void channel_put(struct channel *c, const struct export_window *w);

/*
 * Replaces the agent's report, a copy of which is sent after the next delivered item. Without
 * memory the report is lost; the next one replaces it anyway. Sinks without reports ignore it.
 */
void channel_report(struct channel *c, const struct buf *report);

/* Counts profiles that never became items. */
void channel_count_drop(struct channel *c, enum export_drop reason, uint64_t n_profiles);

/* The queue's part is a consistent snapshot; the spool's part is read after it. */
void channel_stats(struct channel *c, struct export_sink_stats *out);

/*
 * Starts sending the queue without pauses. Does not block; no channel_put() may follow. From then
 * on a failure ends sending instead of a pause, because the process is about to end.
 */
void channel_finish(struct channel *c);

/*
 * Waits until the queue is empty or CLOCK_MONOTONIC reaches @deadline_ns, then cancels. Remaining
 * items go to the spool or are counted as dropped. The thread has ended when it returns.
 */
void channel_join(struct channel *c, uint64_t deadline_ns);
