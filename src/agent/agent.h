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

#include "base/cleanup.h"
#include "lang/runtime.h"
#include "profiler/session.h"
#include "symbolize/symbolizer_thread.h"

struct agent;
struct agent_config;
struct err;
struct export_window;

/* The results of agent_prepare(), which needs privileges that privileges_drop() drops. */
struct agent_prepared {
	int priority; /* nice value of this thread before; the other threads get it */
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

enum { AGENT_TOP_FILES = 20 };

/* An executable with its unwind table. */
struct agent_file {
	char path[256];
	uint64_t bytes, rows;
};

/* A language runtime that samples hit and whose functions cannot be read; see lang/runtime.h. */
struct agent_runtime {
	char name[24], version[24];
	const char *problem; /* static text */
};

struct agent_stats {
	struct session_stats session;
	struct symbolizer_thread_stats symbolizer_thread;
	uint64_t n_late;   /* windows that started late because the previous one was not done */
	uint64_t n_short;  /* windows that were ended early because they were too large */
	uint64_t n_shrunk; /* how often caches were dropped to stay within the memory limit */
	uint64_t first_window_ns; /* from agent_run() to the first export; 0: none yet */
	/* Longest time between two reads of the ring in this window and the previous one. */
	uint64_t longest_gap_ns;
	uint64_t cpu_ns;    /* of this process and its children */
	uint64_t rss_bytes; /* of this process, without BPF maps */
	uint64_t worker_rss_bytes;
	uint64_t children_bytes; /* private memory of the children of roles */
	uint64_t copies_bytes;   /* copies of files of remote file systems */
	uint64_t maps_bytes;
	uint64_t most_bytes; /* the most that all of these were together */
	uint64_t langs_bytes, jit_symbols_bytes, sample_counts_bytes;
	uint64_t n_labelled_processes; /* processes with labels */
	uint32_t n_files;
	uint64_t n_files_forgotten;
	uint64_t n_files_refused, n_files_unread;
	uint64_t n_openers_killed;
	unsigned int n_openers_abandoned;
	bool paused;       /* by the probability setting */
	uint64_t n_unsent; /* samples not symbolized in time at the end */
	size_t n_top;
	struct agent_file top[AGENT_TOP_FILES]; /* the largest, in descending order */
	size_t n_unsupported;
	struct agent_runtime unsupported[LANG_RUNTIMES_MAX];
};

/* Statistics as of about two seconds ago. May be called from any thread. */
void agent_stats(struct agent *a, struct agent_stats *out);

/* Returns true while the agent samples; /healthz reports this. */
bool agent_is_healthy(struct agent *a);
