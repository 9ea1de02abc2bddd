/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The statistics of the agent, and how they are collected from its parts: what the session and the
 * symbolizer thread counted, and the memory and CPU time of this process and its children.
 * metrics.h and report.h print them.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/top_files.h"
#include "lang/runtime.h"
#include "profiler/session.h"
#include "symbolize/symbolizer_thread.h"

struct process_info_store;
struct selector;

/* A language runtime that samples hit and whose functions cannot be read; see lang/runtime.h. */
struct agent_runtime {
	char name[24], version[24];
	const char *problem; /* static text */
};

/* A rule of selection and the samples that it excluded. */
struct agent_exclusion {
	char rule[200];  /* "" if no rule matched */
	uint32_t number; /* of the rule, from 1; 0: no rule */
	uint64_t n_samples;
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
	uint64_t n_openers_killed, n_openers_late;
	unsigned int n_openers_abandoned;
	bool paused;       /* by the probability setting */
	uint64_t n_unsent; /* samples not symbolized in time at the end */
	size_t n_top;
	struct agent_file top[AGENT_TOP_FILES]; /* the largest, in descending order */
	size_t n_exclusions;
	struct agent_exclusion exclusions[SELECT_RULES_MAX];
	size_t n_unsupported;
	struct agent_runtime unsupported[LANG_RUNTIMES_MAX];
};

/* The parts that are measured; borrowed. */
struct stats_sources {
	struct session *session;
	const struct selector *selector;
	const uint64_t *excluded_before; /* SELECT_RULES_MAX counts of earlier rules */
	struct process_info_store *process_info;
	struct symbolizer_thread *symbolizer_thread;
	pthread_mutex_t *lock; /* of the session; the caller does not hold it */
};

/*
 * Updates @s, which has the previous statistics. Members that concern windows, pauses and the end
 * of the agent are not changed; the caller maintains them. Call it on the sampling thread.
 */
void stats_collect(struct agent_stats *s, const struct stats_sources *from);

/* Everything that --memory limits, in bytes. */
uint64_t stats_held_bytes(const struct agent_stats *s);
