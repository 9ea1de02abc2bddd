/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A recording in progress: owns the sampler, the side-band, the process and file tables, and
 * the counts, and drives them from one loop. session_open(), session_start(), then
 * session_poll() whenever session_fd() is readable and at least every SESSION_POLL_MS, then
 * session_stop(). It produces sample counts, not profiles: symbolize.h does that.
 *
 * One thread, which is called the sampling thread elsewhere; the ring reader adds its own.
 * The accessors at the end return borrowed parts that other modules use by their own rules.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "profiler/session_opts.h"
#include "profiler/session_stats.h"

struct sample_counts;
struct err;
struct file_table;
struct jit_symbols;
struct langs;
struct session;

/* Raises the priority of the calling thread, if permitted; session_open() does so too. */
void session_raise_priority(void);

/*
 * Loads the BPF programs and opens the side-band. @opts is copied. Returns 0, or -errno with
 * the reason and the remedy in @err.
 */
int session_open(struct session **out, const struct session_opts *opts, struct err *err);
void session_free(struct session *s);

DEFINE_FREEP(struct session, session_free)

/*
 * With sampler_opts.targets_only: samples this process and, unless sampler_opts.no_children is set,
 * its present and future descendants. Call it before session_start(). Returns 0 or -errno.
 */
int session_follow(struct session *s, uint32_t pid);

/*
 * Reads the running processes, then starts sampling. Changes in between are in the side-band.
 * Returns 0 or -errno.
 */
int session_start(struct session *s, struct err *err);
/* CLOCK_MONOTONIC time of session_start(): waits are counted from then on. */
uint64_t session_start_ns(const struct session *s);

/*
 * An epoll descriptor: call session_poll() when it is readable, and at least every
 * SESSION_POLL_MS.
 */
int session_fd(const struct session *s);
enum { SESSION_POLL_MS = 100 };
/* Applies events and processes samples for at most about 50 ms. Returns 0 or -errno. */
int session_poll(struct session *s, struct err *err);

/*
 * Sleeps for @ms milliseconds after session_poll(), so that events that can wait are applied
 * together: a starting program maps a dozen files, each of which would otherwise wake the caller.
 * Returns early when urgent samples are queued or @fd is readable; -1: no descriptor.
 */
void session_sleep(const struct session *s, int fd, int ms);
/* For a caller that shows results while it records. */
enum { SESSION_SLEEP_MS = 5 };

/* Stops sampling and processes all queued records. Returns 0 or -errno. */
int session_stop(struct session *s, struct err *err);

/* Why off-CPU time is not recorded although it was requested; NULL if it is. */
const char *session_offcpu_error(const struct session *s);

/* Memory held for waiting threads, in bytes. */
size_t session_offcpu_bytes(const struct session *s);

/*
 * Counts all waits up to now. Call it before session_swap_counts(); session_stop() does it
 * too. Returns 0 or -errno.
 */
int session_count_waits(struct session *s);

/* Counts BPF programs that come and go; valid as long as @s, readable by any thread. */
const _Atomic uint32_t *session_kernel_changes(const struct session *s);

struct langs *session_langs(struct session *s);
/* NULL if page faults are not recorded. */
const struct resident *session_resident(const struct session *s);
struct sample_counts *session_counts(struct session *s);
/*
 * Counts into @fresh from now on, which the session owns. Returns the previous counts, owned
 * by the caller.
 */
struct sample_counts *session_swap_counts(struct session *s, struct sample_counts *fresh);
/*
 * Evicts files that no process has mapped any more, if there are too many. @kept: counts that
 * still refer to files; other counts outside the session must not exist.
 */
void session_sweep_files(struct session *s, const struct sample_counts *kept);
/* Size in bytes of the unwind table of file @id, and its number of rows. */
size_t session_table_bytes(const struct session *s, uint32_t id, uint64_t *out_rows);
/* Applies all events of processes that have happened so far. */
void session_apply_events(struct session *s);

/* See process_table_ran_until(). */
bool session_ran_until(struct session *s, uint32_t pid, uint64_t start_ns, uint64_t until_ns,
		       bool any_program);

/* Returns true if the program has ended, or if nothing is known of it. */
bool session_program_has_ended(struct session *s, uint32_t pid, uint64_t start_ns);
/* Starts or stops separating a thread's samples by CPU. */
void session_set_keep_cpus(struct session *s, bool keep);
/* Ends the readers without work, to release their memory. The next request starts others. */
void session_stop_idle_readers(struct session *s);
/*
 * With sampler_opts.by_rules: replaces the rules that decide which processes are profiled. They are
 * applied to all processes at once.
 */
void session_set_rules(struct session *s, const struct process_rules *rules);
/* Pauses or resumes sampling. Returns 0 or -errno. */
int session_pause(struct session *s, bool pause);
struct file_table *session_files(struct session *s);
struct jit_symbols *session_jits(struct session *s);
int session_stats(struct session *s, struct session_stats *out);
/* Number of samples that were taken but not counted, for any reason. */
uint64_t session_n_lost(const struct session_stats *st);
/* Longest time in ns between two reads of the ring since the previous call; resets it. */
uint64_t session_take_gap(struct session *s);
