/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sampling for ever: windows of profiles, one for each set of labels, handed to
 * whoever asked. Two threads: the caller's samples, another names what a window
 * has and hands it over, so that neither names nor the way out hold up sampling.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/namer.h"
#include "agent/session.h"
#include "base/cleanup.h"

struct agent;
struct agent_config;
struct err;
struct export_window;

/* What takes privileges that privileges_drop() gives up. */
struct agent_prepared {
	int priority; /* of this thread as it was: what others get when sampling begins */
	int stats_fd; /* keeps the kernel's statistics of BPF programs on; -1: not allowed */
};

/* Before privileges_drop(), where that is called; the calling thread goes first from now on. */
void agent_prepare(struct agent_prepared *out);

struct agent_opts {
	const struct agent_prepared
		*prepared;                 /* kept; NULL: it was not called. stats_fd is taken */
	const struct agent_config *config; /* borrowed for agent_open() */
	bool keep_times;                   /* of each sample */
	/* A window is complete: takes it. From a thread of the agent's; may not be NULL. */
	void (*export)(void *ctx, struct export_window *w);
	/* One line for the operator, from any of its threads. May be NULL. */
	void (*log)(void *ctx, const char *message);
	void *ctx;
};

/* Load and set up; nothing is sampled yet. 0; why it is not possible here, with the remedy. */
int agent_open(struct agent **out, const struct agent_opts *opts, struct err *err);
void agent_free(struct agent *a);

DEFINE_FREEP(struct agent, agent_free)

/*
 * Sample until agent_stop(). If it was prepared, of this process's threads the calling one
 * alone goes first from then on. The last window is exported before it returns, within four
 * seconds: names that are not found by then are left out. 0 or -errno.
 */
int agent_run(struct agent *a, struct err *err);

/* From any thread, or a signal handler. */
void agent_stop(struct agent *a);

/*
 * From any thread: go on with this config, which is taken. What can't change while it
 * runs (config.def's ONCE) has to be as it was: agent_config_keep().
 */
void agent_reload(struct agent *a, struct agent_config *config);

enum { AGENT_TOP_FILES = 20 };

/* An executable's unwind table. */
struct agent_file {
	char path[256];
	uint64_t bytes, rows;
};

struct agent_stats {
	struct session_stats session;
	struct namer_stats namer;
	uint64_t n_late;          /* windows that had to wait for the one before */
	uint64_t n_short;         /* that were cut because they were too large */
	uint64_t n_shrunk;        /* how often the memory limit made it forget what it only kept */
	uint64_t first_window_ns; /* from agent_run() to the first export; 0: not yet */
	uint64_t longest_gap_ns; /* between two readings of the ring, in this window and the last */
	uint64_t cpu_ns;         /* of the process and of the symbolizer's worker */
	uint64_t rss_bytes;      /* of the process, without BPF maps */
	uint64_t worker_rss_bytes;
	uint64_t maps_bytes;
	uint64_t langs_bytes, jits_bytes, collect_bytes;
	uint64_t n_facts; /* processes with labels */
	uint32_t n_files;
	uint64_t n_files_forgotten;
	bool paused;       /* by probability */
	uint64_t n_unsent; /* samples that there was no time to name when it ended */
	size_t n_top;
	struct agent_file top[AGENT_TOP_FILES]; /* by size */
};

/* As of about two seconds ago. From any thread. */
void agent_stats(struct agent *a, struct agent_stats *out);

/* Whether it samples as it should: what /healthz says. */
bool agent_is_well(struct agent *a);
