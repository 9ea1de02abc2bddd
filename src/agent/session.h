/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A recording in progress: the sampler, the side-band, the processes and
 * files, and the counts, turned by one loop. One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/procs.h"
#include "agent/records.h"
#include "agent/sampler.h"
#include "base/cleanup.h"
#include "unwind/tables.h"

struct collect;
struct collect_thread;
struct err;
struct files;
struct jits;
struct langs;
struct session;

struct session_stats {
	struct sampler_stats sampler;
	struct procs_stats procs;
	struct unwind_tables_stats tables;
	struct records_stats records;
	size_t backlog_bytes; /* of records that wait for their turn */
};

struct session_opts {
	struct sampler_opts sampler;
	bool signatures;    /* Java's methods with their parameters */
	bool keep_times;    /* of each sample */
	bool keep_cpus;     /* tell a thread's samples apart by CPU */
	uint32_t max_stack; /* frames kept, from the leaf; 0: all */
	/*
	 * When the counts hold so much, deep stacks are cut until they are swapped: collect_cut();
	 * when they are full, nothing is counted: collect_is_full(). 0: all.
	 */
	size_t max_counts_bytes;
	/* What may wait while tables are built; beyond, stacks that want one are cut. 0: 64 MiB. */
	size_t max_backlog_bytes;
	uint64_t stop_ns;  /* session_stop() builds tables for so long at most; 0: for all */
	bool exclude_self; /* this process and its children */
	bool stays_first;  /* the calling thread goes before others after session_stop(), too */
	/* A thread has its first sample in this window. May be NULL. */
	void (*on_thread)(void *ctx, const struct collect_thread *thread, uint32_t ppid);
	void *ctx;
};

/* The calling thread goes before others, as session_open() lets it, where that is allowed. */
void session_go_first(void);

/* 0; or why sampling is not possible here, with the remedy. */
int session_open(struct session **out, const struct session_opts *opts, struct err *err);
void session_free(struct session *s);

DEFINE_FREEP(struct session, session_free)

/* With sampler_opts.targets_only: sample this process and its later children. */
int session_follow(struct session *s, uint32_t pid);

/* Read what runs already, then attach; what happens in between the side-band tells. */
int session_start(struct session *s, struct err *err);
/* CLOCK_MONOTONIC of when that was: what waits is counted from then on. */
uint64_t session_start_ns(const struct session *s);

/* An epoll descriptor; when it is readable, or at least every 100 ms, call session_turn(). */
int session_fd(const struct session *s);
enum { SESSION_TURN_MS = 100 };
/* Readable when samples wait that are urgent, or were left; session_fd() is then, too. */
int session_ring_fd(const struct session *s);
int session_turn(struct session *s, struct err *err);

/* Stop sampling and take in the rest. */
int session_stop(struct session *s, struct err *err);

/* Why there is no time off the CPU although it was asked for; NULL: there is. */
const char *session_off_refusal(const struct session *s);

size_t session_off_bytes(const struct session *s); /* held for threads that wait */

/*
 * What has been waited up to now is counted; call it before session_swap_collect().
 * session_stop() does so too. 0 or -errno.
 */
int session_cut_off(struct session *s);

struct langs *session_langs(struct session *s);
struct collect *session_collect(struct session *s);
/* Count into @fresh from now on; what was counted so far is the caller's. */
struct collect *session_swap_collect(struct session *s, struct collect *fresh);
/*
 * Forget files that no process has mapped any more, when there are very many. @kept:
 * counts whose words still name files; nobody else's words may.
 */
void session_sweep_files(struct session *s, const struct collect *kept);
/* Bytes of the unwind table of file @id, and its rows. */
size_t session_table_bytes(const struct session *s, uint32_t id, uint64_t *out_rows);
/* Whether that program has ended. */
bool session_has_ended(struct session *s, uint32_t pid, uint64_t start_ns);
/* Tell a thread's samples apart by CPU from now on, or no more. */
void session_keep_cpus(struct session *s, bool keep);
/* Sampling stops for a while, or goes on. */
int session_pause(struct session *s, bool pause);
struct files *session_files(struct session *s);
struct jits *session_jits(struct session *s);
int session_stats(struct session *s, struct session_stats *out);
/* Samples that were taken and not counted, of all reasons. */
uint64_t session_n_lost(const struct session_stats *st);
/* The longest time between two readings of the ring since the last call. */
uint64_t session_take_gap(struct session *s);
