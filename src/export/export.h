/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The exporter sends windows of profiles to up to EXPORT_MAX_SINKS back ends. Each has its own
 * queue and thread, so that a slow or unavailable one delays neither sampling nor the others.
 * Undelivered items wait in memory and then on disk, within limits; drops are counted by reason.
 * The exporter does not depend on how profiles are made.
 *
 * Processes of another role (exporter_role.h) use the network; this one encodes, queues and spools.
 * Threads: one that encodes, and one per sink. Functions may be called from any thread, but
 * exporter_put() from one at a time and nothing after exporter_stop() except exporter_stats() and
 * exporter_free(). Memory: queue_bytes per sink, plus the windows that wait to be encoded (two) and
 * one item per sink that is being sent.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct buf;
struct err;
struct export_window;
struct exporter;
struct profile;
struct role_launcher;
struct sink_ops;

enum { EXPORT_MAX_SINKS = 8 };

struct export_label {
	const char *name, *value;
};

/* A window of time to be filled with series. Times are ns since 1970. Returns 0 or -ENOMEM. */
int export_window_new(struct export_window **out, int64_t start_ns, int64_t end_ns);
void export_window_free(struct export_window *w);

DEFINE_FREEP(struct export_window, export_window_free)

/**
 * export_window_add() - add a series, usually the profile of one process
 *
 * Takes ownership of @p, also on failure. OTLP sends its first sample type and its period;
 * timestamps of samples are sent in formats that have them. @labels are copied, "service_name"
 * must be first. They have Pyroscope's names ("pid", "exe", "container_id", ...), which are
 * translated for OTLP. "__name__" is "process_cpu" unless it is among them. Values are made
 * UTF-8 and truncated to 2048 bytes.
 *
 * Return: 0 or -ENOMEM.
 */
int export_window_add(struct export_window *w, struct profile *p, const struct export_label *labels,
		      size_t n_labels);

enum export_kind {
#define X(sym, name) EXPORT_##sym,
#include "export/sinks.def"
#undef X
	EXPORT_KIND_MAX,
};

/*
 * Strings are borrowed until exporter_new() returns. NULL: not set. Zero-initialize it; a sink kind
 * ignores what does not apply to it. Contradictory credentials are an error.
 */
struct export_sink_options {
	enum export_kind kind;
	const struct sink_ops *ops; /* a kind that sinks.def does not have; NULL: that of @kind */
	const char *url;            /* or the directory; "store" for EXPORT_LOCAL */
	int fd;                     /* socket of EXPORT_LOCAL; remains the caller's */

	const char *tenant;               /* X-Scope-OrgID */
	const char *bearer, *bearer_file; /* the file is read for every request */
	const char *basic, *basic_file;   /* "user:password" */
	const char *const *headers;       /* "Name: value" */
	size_t n_headers;
	const char *ca_file, *cert_file, *key_file; /* PEM */
	bool tls_insecure;
	unsigned int timeout_ms; /* per request; 0: 10 s */
	bool no_gzip;
	/*
	 * Send the labels of samples (thread, tid) to Pyroscope, which creates a series for each
	 * distinct set of them. They are omitted by default.
	 */
	bool sample_labels;

	uint64_t dir_bytes; /* limit of all files together; 0: 1 GiB */
	int64_t dir_age_ns; /* older files are removed; 0: a day */
};

/* Zero-initialize it. spool_dir must belong to this user alone. */
struct exporter_options {
	const struct export_sink_options *sinks;
	size_t n_sinks;
	size_t queue_bytes;    /* memory limit of each sink; 0: 8 MiB */
	const char *spool_dir; /* created if missing; NULL: no spool */
	uint64_t spool_bytes;  /* limit of all sinks together; 0: 512 MiB */
	/* The exporter that this one replaces, if it still exists: both may share a spool. */
	struct exporter *previous;
	/*
	 * Starts the processes that use the network (exporter_role.h); must outlive the exporter.
	 * NULL: this process does.
	 */
	struct role_launcher *launcher;
	int64_t max_age_ns; /* older windows are dropped; 0: a day */
	unsigned int
		retry_ms; /* first pause after a failure; doubles up to 64 times this; 0: 1 s */
	const char *host; /* host.name for OTLP; NULL: the kernel's host name */
	/*
	 * Called on the exporter's threads, at most once per minute and sink, and when a sink
	 * begins to refuse the credentials. May be NULL.
	 */
	void (*log)(void *ctx, const char *message);
	void *log_ctx;
};

/*
 * Returns 0; -EINVAL for invalid options or an unusable file or directory, which @err names. An
 * unavailable back end is not an error. The caller frees *@out. Files of credentials and
 * certificates are checked now, so that a typing error is found at start.
 */
int exporter_new(struct exporter **out, const struct exporter_options *opt, struct err *err);

/*
 * Takes ownership of a window and sends it. Blocks while several windows are being encoded, but
 * never for a back end. After exporter_stop() the window is counted as dropped and freed.
 */
void exporter_put(struct exporter *e, struct export_window *w);

/*
 * Replaces the agent's status report (docs/api.md: POST /api/v1/agents). The report is copied, and
 * sent to each Cameo server after the next item that the server accepts; other back ends do not
 * receive it.
 */
void exporter_report(struct exporter *e, const struct buf *report);

enum export_drop {
#define X(sym, label) EXPORT_DROP_##sym,
#include "export/drop_reasons.def"
#undef X
	EXPORT_DROP_MAX,
};

const char *export_drop_label(enum export_drop reason);

/* An item is one request with some or all profiles of a window. */
struct export_sink_stats {
	char name[80];                       /* "otlp grpc://host:4317", without credentials */
	uint64_t queued_items, queued_bytes; /* in memory, with the one being sent */
	uint64_t spooled_items, spooled_bytes;
	uint64_t sent_items, sent_bytes, sent_profiles;
	uint64_t retries;                  /* attempts after an item's first */
	uint64_t denied;                   /* attempts with credentials that were refused */
	uint64_t dropped[EXPORT_DROP_MAX]; /* items */
	uint64_t rejected_profiles;        /* of partially accepted items */
	uint64_t unsent_profiles;          /* of items dropped at the end */
	uint64_t spool_errors;             /* failed writes */
	bool failing;                      /* the last attempt failed */
	char last_error[160];
};

struct exporter_stats {
	size_t n_sinks;
	struct export_sink_stats sinks[EXPORT_MAX_SINKS];
	uint64_t process_deaths; /* exporter processes that died or were killed */
	size_t n_pids;
	pid_t pids[EXPORT_MAX_SINKS]; /* of exporter processes */
};

/* It may be called from any thread while the exporter exists. */
void exporter_stats(struct exporter *e, struct exporter_stats *out);

/*
 * Sends queued items until CLOCK_MONOTONIC reaches @deadline_ns, then moves the remaining ones to
 * the spool or drops them. No exporter_put() may follow.
 */
void exporter_stop(struct exporter *e, uint64_t deadline_ns);

/* Stops immediately unless exporter_stop() was called before. */
void exporter_free(struct exporter *e);

DEFINE_FREEP(struct exporter, exporter_free)
