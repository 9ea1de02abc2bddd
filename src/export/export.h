/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The way out of the machine: windows of profiles are handed over and sent to
 * any number of back ends, each with a queue and a thread of its own, so that one
 * that is away or slow holds up neither sampling nor the others. What can't be
 * delivered waits in memory, then on disk, within limits; what is dropped is
 * counted. Nothing here knows how profiles are made.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct buf;
struct err;
struct export_window;
struct exporter;
struct profile;

enum { EXPORT_MAX_SINKS = 8 };

struct export_label {
	const char *name, *value;
};

/* A window of time, for as long as it is being filled. Times are ns since 1970. */
int export_window_new(struct export_window **out, int64_t start_ns, int64_t end_ns);
void export_window_free(struct export_window *w);

DEFINE_FREEP(struct export_window, export_window_free)

/**
 * export_window_add() - one series of the window: usually a process
 *
 * @p is taken, also on failure. Its first sample type and its period are what
 * OTLP sends; times of samples are kept where a format has a place for them.
 * @labels are copied, "service_name" first; names as Pyroscope wants them
 * ("pid", "exe", "container_id", ...): for OTLP they get OpenTelemetry's names.
 * "__name__" is "process_cpu" unless a label says otherwise. Values are cut to what
 * is sent (2 048 bytes) and made UTF-8.
 *
 * Return: 0 or -ENOMEM.
 */
int export_window_add(struct export_window *w, struct profile *p, const struct export_label *labels,
		      size_t n_labels);

enum export_kind {
	EXPORT_PYROSCOPE, /* push.v1.PusherService/Push below an http(s) URL */
	EXPORT_OTLP,      /* grpc(s)://HOST:PORT, or http(s)://HOST:PORT[/PATH] */
	EXPORT_DIR,       /* a directory that gets pprof files */
	EXPORT_LOCAL,     /* a server in a process beside: server_feed() at the other end of fd */
};

/* Texts are borrowed until exporter_new() returns, and NULL where nothing is meant. */
struct export_sink_options {
	enum export_kind kind;
	const char *url; /* or the directory; "store" for EXPORT_LOCAL */
	int fd;          /* EXPORT_LOCAL only; it stays the caller's */

	const char *tenant;               /* X-Scope-OrgID */
	const char *bearer, *bearer_file; /* a file is read for every request */
	const char *basic, *basic_file;   /* "user:password" */
	const char *const *headers;       /* "Name: value" */
	size_t n_headers;
	const char *ca_file, *cert_file, *key_file; /* PEM */
	bool tls_insecure;
	unsigned int timeout_ms; /* of one request; 0: 10 s */
	bool no_gzip;
	/*
	 * Pyroscope makes a series of every distinct set of a sample's labels
	 * (thread, tid): they are left out unless this is set.
	 */
	bool sample_labels;

	uint64_t dir_bytes; /* of all files; 0: 1 GiB */
	int64_t dir_age_ns; /* of a file; 0: a day */
};

struct exporter_options {
	const struct export_sink_options *sinks;
	size_t n_sinks;
	size_t queue_bytes;    /* in memory, of each sink; 0: 8 MiB */
	const char *spool_dir; /* made if it is not there; NULL: none */
	uint64_t spool_bytes;  /* of all sinks; 0: 512 MiB */
	/* Whose place it takes, if that is not freed yet: both use one spool, if it is one. */
	struct exporter *previous;
	int64_t max_age_ns; /* older windows are not sent any more; 0: a day */
	unsigned int
		retry_ms; /* the first pause after a failure, doubled up to 64 times that; 0: 1 s */
	const char *host; /* host.name for OTLP; NULL: what the kernel says */
	/* From the exporter's threads; about each sink at most a line a minute. May be NULL. */
	void (*log)(void *ctx, const char *message);
	void *log_ctx;
};

/*
 * 0; -EINVAL for options that make no sense, or a file or directory that can't be
 * used, and @err says which. That a back end is away is no error.
 */
int exporter_new(struct exporter **out, const struct exporter_options *opt, struct err *err);

/* Send a window: takes it. Waits while several are being written down, never for a back end. */
void exporter_put(struct exporter *e, struct export_window *w);

/*
 * How the agent is (docs/api.md: POST /api/v1/agents), copied; told to Cameo's own servers with
 * what they get next, to nobody else.
 */
void exporter_report(struct exporter *e, const struct buf *report);

enum export_drop {
#define X(sym, label) EXPORT_DROP_##sym,
#include "export/drop_reasons.def"
#undef X
	EXPORT_DROP_MAX,
};

const char *export_drop_label(enum export_drop reason);

/* An item is one request: some or all profiles of a window. */
struct export_sink_stats {
	char name[80];                       /* "otlp grpc://host:4317", without credentials */
	uint64_t queued_items, queued_bytes; /* in memory, the one being sent among them */
	uint64_t spooled_items, spooled_bytes;
	uint64_t sent_items, sent_bytes, sent_profiles;
	uint64_t retries;                  /* attempts after an item's first */
	uint64_t dropped[EXPORT_DROP_MAX]; /* items */
	uint64_t rejected_profiles;        /* of items that were taken in part */
	uint64_t unsent_profiles;          /* of items dropped because it ended */
	uint64_t spool_errors;             /* writes that failed */
	bool failing;                      /* the last attempt was no success */
	char last_error[160];
};

struct exporter_stats {
	size_t n_sinks;
	struct export_sink_stats sinks[EXPORT_MAX_SINKS];
};

void exporter_stats(struct exporter *e, struct exporter_stats *out);

/*
 * Send what is there until CLOCK_MONOTONIC says @deadline_ns, then put the rest
 * into the spool, or drop it. Nothing is put afterwards.
 */
void exporter_stop(struct exporter *e, uint64_t deadline_ns);

/* Stops at once if that was not done. */
void exporter_free(struct exporter *e);

DEFINE_FREEP(struct exporter, exporter_free)
