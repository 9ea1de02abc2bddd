/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The agent: continuous sampling in windows, with one profile per label set, handed to an exporter.
 * Two threads: the caller's samples, the symbolizer thread turns each window into profiles, so that
 * neither symbolization nor the network delays sampling. The callback decides where profiles are
 * sent (src/export); config.h reads configuration files.
 *
 * Use: agent_prepare() and privileges_drop() first, if privileges are dropped; then
 * agent_open(), agent_run() until agent_stop().
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/stats.h"
#include "base/cleanup.h"

struct agent;
struct agent_config;
struct err;
struct export_window;
struct fetcher;

/* The results of agent_prepare(), which requires privileges that privileges_drop() gives up. */
struct agent_prepared {
	int priority; /* nice value of the calling thread before it was raised, for other threads */
	int stats_fd; /* keeps the kernel's BPF statistics on; -1: not permitted */
};

/*
 * Raises the priority of the calling thread and turns BPF statistics on. Call it before
 * privileges_drop().
 */
void agent_prepare(struct agent_prepared *out);

struct agent_opts {
	/* Borrowed; NULL: agent_prepare() was not called. The agent takes over stats_fd. */
	const struct agent_prepared *prepared;
	const struct agent_config *config; /* borrowed during agent_open() */
	bool keep_times;                   /* remember the time of each sample */
	uint64_t first_window_ns;          /* the most that the first window lasts; 0: as all */
	struct fetcher *fetcher;           /* for debuginfod and the kubelet; borrowed, or NULL */
	/*
	 * Called on the symbolizer thread (at the end, on the caller's) with a complete
	 * window or a part of one; owns @w. Must not be NULL.
	 */
	void (*export)(void *ctx, struct export_window *w);
	/* Called with one line in logfmt, without a newline, from any thread. May be NULL. */
	void (*log)(void *ctx, const char *message);
	void *ctx;
};

/*
 * Loads the BPF programs and sets everything up; samples nothing yet. Returns 0, or -errno
 * with the reason and the remedy in @err.
 */
int agent_open(struct agent **out, const struct agent_opts *opts, struct err *err);
void agent_free(struct agent *a);

DEFINE_FREEP(struct agent, agent_free)

/*
 * Samples until agent_stop(). If agent_prepare() was called, the calling thread alone keeps
 * the raised priority. The last window is exported before it returns, within four seconds:
 * symbols that are not found by then are omitted. Returns 0 or -errno.
 */
int agent_run(struct agent *a, struct err *err);

/* Makes agent_run() return. May be called from any thread or a signal handler. */
void agent_stop(struct agent *a);

/*
 * Applies a new configuration, which it owns, while running. May be called from any thread.
 * Settings that cannot change at run time (FIXED in config.def) must have their old values;
 * agent_config_keep() ensures that.
 */
void agent_reload(struct agent *a, struct agent_config *config);

/* Statistics as of about two seconds ago. May be called from any thread. */
void agent_stats(struct agent *a, struct agent_stats *out);

/* Returns true while the agent samples; /healthz reports this. */
bool agent_is_healthy(struct agent *a);
