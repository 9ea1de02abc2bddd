/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What waits for one sink, and the thread that sends it: one item at a time, the
 * oldest first, until the sink has taken it or never will. When it is away the
 * pauses grow, and what waits goes to the spool if there is one.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "export/export.h"

struct channel;
struct err;
struct export_window;
struct sink_ops;
struct spool;

struct channel_options {
	const struct sink_ops *ops;
	void *sink; /* taken, also on failure */
	const char *name;
	struct spool *spool; /* outlives the channel; or NULL */
	uint32_t spool_sink;
	size_t queue_bytes;
	uint64_t max_age_ns;
	unsigned int retry_ms; /* the first pause after a failure; it doubles up to 64 times that */
	void (*log)(void *ctx, const char *message);
	void *log_ctx;
};

/* 0, -ENOMEM, -EAGAIN. Texts are copied. */
int channel_new(struct channel **out, const struct channel_options *opt);
void channel_free(struct channel *c);

DEFINE_FREEP(struct channel, channel_free)

/* Write the window down as items of this sink and queue them. */
void channel_put(struct channel *c, const struct export_window *w);

/* How the agent is now, for whoever takes that: told when an item was taken next. */
void channel_report(struct channel *c, const struct buf *report);

/* Count things that never became items. */
void channel_count_drop(struct channel *c, enum export_drop reason, uint64_t n_profiles);

void channel_stats(struct channel *c, struct export_sink_stats *out);

/* Nothing will be put any more: send what is there, without pauses; return at once. */
void channel_finish(struct channel *c);

/* Wait for that until CLOCK_MONOTONIC says @deadline_ns, then break it off. */
void channel_join(struct channel *c, uint64_t deadline_ns);
