/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parts of the agent: divides its memory limit and creates the store of process attributes, the
 * session and the symbolizer thread by the configuration. It neither starts nor drives them;
 * agent.c does. One thread.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/memory_plan.h"
#include "sampler/cpu_list.h"

struct agent_config;
struct err;
struct export_window;
struct fetcher;
struct process_info_store;
struct selector;
struct session;
struct symbolizer_thread;

/*
 * All members are owned. Zeros before agent_parts_open() and after agent_parts_close(). Do not move
 * the struct, because the parts hold pointers into it.
 */
struct agent_parts {
	struct memory_plan plan;
	struct selector *selector;
	struct session *session;
	struct process_info_store *process_info;
	struct symbolizer_thread *symbolizer_thread;
	/* Settings that the parts borrow. */
	struct cpu_list cpus;
	char *debuginfod, *symbol_cache; /* URLs and a directory, or NULL */
};

struct agent_parts_opts {
	const struct agent_config *config; /* checked; borrowed during agent_parts_open() */
	int priority;                      /* nice value of the symbolizer thread */
	int stats_fd;            /* owned by the session; -1: it enables statistics itself */
	bool keep_times;         /* see struct session_opts */
	struct fetcher *fetcher; /* see struct agent_opts */
	uint64_t stop_ns;
	pthread_mutex_t *lock; /* of the session, for the symbolizer thread; borrowed */
	/* See struct symbolizer_thread_opts. */
	void (*export)(void *ctx, struct export_window *w);
	void (*log)(void *ctx, const char *message);
	void *ctx;
};

/*
 * Loads the BPF programs and creates all parts. Returns 0, or -errno, mostly with the reason in
 * @err; the caller then calls agent_parts_close().
 */
int agent_parts_open(struct agent_parts *p, const struct agent_parts_opts *o, struct err *err);

/* Frees the parts that exist. Blocks until the window being symbolized is finished. */
void agent_parts_close(struct agent_parts *p);
