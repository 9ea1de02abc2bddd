/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A kind of back end. encode() runs in the exporter's thread that writes windows
 * down, send() in the one that belongs to the sink, cancel() in any: so encode()
 * and send() share nothing that changes.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"

struct err;
struct export_sink_options;
struct export_window;

/* One request, as it will be sent. */
struct export_item {
	int64_t time_ns; /* of its window's start, since 1970 */
	int64_t born_ns; /* when it was made, by CLOCK_BOOTTIME, which nobody sets */
	uint32_t n_profiles;
	uint32_t tries;
	uint64_t seq; /* in the spool; 0: it is not there */
	struct buf body;
	struct export_item *next;
};

void export_item_free(struct export_item *i);

DEFINE_FREEP(struct export_item, export_item_free)

enum sink_verdict {
	SINK_DONE,
	SINK_LATER,    /* the back end is away or busy */
	SINK_DOUBTFUL, /* as above, but it may be this item's fault: not for ever */
	SINK_NEVER,    /* it will not take this item */
};

struct sink_outcome {
	enum sink_verdict verdict;
	int64_t retry_ms; /* for how long it wants to be left alone; 0: not said */
	uint64_t rejected_profiles;
	char why[160]; /* unless it is done without remark */
};

/* Take the content of @body, which is @n_profiles, as a request of its own. 0 or -ENOMEM. */
typedef int (*sink_emit_fn)(void *ctx, struct buf *body, uint32_t n_profiles);

struct sink_ops {
	const char *name;
	int (*open)(void **out, const struct export_sink_options *opt, const char *host,
		    struct err *err);
	int (*encode)(void *sink, const struct export_window *w, sink_emit_fn emit, void *ctx);
	void (*send)(void *sink, const struct export_item *item, struct sink_outcome *out);
	/*
	 * Tell how the agent is, in the thread of send() and after one that was done; what comes
	 * of it matters to nobody. NULL: there is no way to.
	 */
	void (*tell)(void *sink, const struct buf *report);
	void (*cancel)(void *sink);
	void (*free)(void *sink);
};

extern const struct sink_ops sink_directory;
extern const struct sink_ops sink_otlp;
extern const struct sink_ops sink_pyroscope;
extern const struct sink_ops sink_local;

/* Fill @out: one statement where a send ends. */
void sink_end(struct sink_outcome *out, enum sink_verdict verdict, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
