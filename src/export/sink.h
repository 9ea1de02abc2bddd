/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The interface of a kind of back end. encode() runs on the exporter's encoding thread, send()
 * on the thread of the sink and cancel() on any, so encode() and send() must not share mutable
 * state.
 *
 * Life of a sink: open() validates options and copies what it needs; encode() turns a window into
 * requests and passes each to emit(); send() delivers one request and judges the response; cancel()
 * makes a running send() return soon; free() comes last, when no other call is in progress.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"

struct err;
struct export_sink_options;
struct export_window;
struct role_pool;

/*
 * One encoded request. Owned by one place at a time: the queue, the thread that sends it, or the
 * spool's caller.
 */
struct export_item {
	int64_t time_ns; /* of its window's start, since 1970 */
	int64_t born_ns; /* time of encoding by CLOCK_BOOTTIME, which cannot be set */
	uint32_t n_profiles;
	uint32_t tries;
	uint64_t seq; /* sequence number in the spool; 0: only in memory */
	struct buf body;
	struct export_item *next;
};

void export_item_free(struct export_item *i);

DEFINE_FREEP(struct export_item, export_item_free)

enum sink_verdict {
	SINK_DONE,
	SINK_LATER,  /* the back end is unavailable or busy: retry */
	SINK_DENIED, /* it refuses the credentials, which may be renewed: retry, and log an error */
	SINK_DOUBTFUL, /* the item may be the cause: retry a limited number of times */
	SINK_NEVER,    /* the back end rejects this item permanently */
};

/* send() fills it in; it is zeroed before, with the verdict SINK_LATER. */
struct sink_outcome {
	enum sink_verdict verdict;
	int64_t retry_ms; /* pause requested by the back end; 0: none */
	uint64_t rejected_profiles;
	bool is_cameo; /* the back end is a Cameo server */
	char why[160]; /* reason or warning; "" if there is none */
};

/*
 * Takes the content of @body as a request with @n_profiles profiles. Returns 0 or -ENOMEM. @body is
 * empty afterwards and can be reused; on failure it remains the caller's.
 */
typedef int (*sink_emit_fn)(void *ctx, struct buf *body, uint32_t n_profiles);

/* The members that all sinks have. Valid until the sink's free() was called. */
struct sink_setup {
	const char *host;            /* during open() only */
	struct role_pool *exporters; /* processes with a network; NULL if no sink uses_network */
};

struct sink_ops {
	const char *name;
	bool uses_network; /* it sends through sink_setup.exporters (post.h) */
	int (*open)(void **out, const struct export_sink_options *opt,
		    const struct sink_setup *setup, struct err *err);
	int (*encode)(void *sink, const struct export_window *w, sink_emit_fn emit, void *ctx);
	void (*send)(void *sink, const struct export_item *item, struct sink_outcome *out);
	/*
	 * Sends the agent's report, on the thread of send() after a successful one. Errors are
	 * ignored. NULL: the back end does not accept reports.
	 */
	void (*report)(void *sink, const struct buf *report);
	void (*cancel)(void *sink);
	void (*free)(void *sink);
};

#define X(sym, name) extern const struct sink_ops sink_##name;
#include "export/sinks.def"
#undef X

/* Fills in @out, so that the end of a send is one statement. Control characters are replaced. */
void sink_end(struct sink_outcome *out, enum sink_verdict verdict, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
