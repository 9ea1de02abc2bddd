/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Attributes of processes that labels are made of: cgroup, executable, some environment variables.
 * They are read when a process is first sampled, because it may have exited later.
 *
 * Threads: one thread notes and reaps (the sampling thread), another one may find (the
 * symbolizer thread). Reading environment and executable takes locks of the process, which
 * can block for seconds; after process_info_store_start(), threads of this module do that.
 *
 * Life of an entry: noted at the first sample of a process, read by a reader thread, moved into the
 * public struct by process_info_store_find(), and removed three windows after the end. Memory is
 * a few hundred bytes per process plus its values of the environment. A process is identified by
 * pid and start time, so a reused pid is another entry.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "metadata/labels.h"

struct process_info_store;

enum { PROCESS_INFO_ENV_MAX = 16 };

struct process_info {
	uint64_t start_ns;
	uint32_t pid;
	uint64_t user; /* proc/user.h */
	char comm[16];
	char *exe;    /* as the process sees it; "" for a kernel thread */
	char *cgroup; /* content of /proc/PID/cgroup, or of the parent's; "" if both were gone */
	char *env[PROCESS_INFO_ENV_MAX]; /* values of the requested variables; NULL: not set */
	/*
	 * False: env is empty, and exe is the value that was passed to process_info_store_note().
	 */
	bool is_read;
	/* It is being read. If neither this nor is_read is true, reading failed. */
	bool is_pending;

	/* Owned by the labeler: the labels, and how long they are valid. */
	struct metadata_labels labels;
	uint64_t labels_until_ns;
	bool dropped;

	uint8_t n_ended; /* number of windows since the process ended */
};

/* Identifies a process to note, with what the caller knows about it. */
struct process_info_key {
	uint32_t pid, ppid;
	uint64_t start_ns;
	const char *comm, *exe;
};

/*
 * @proc is the path of procfs, "/proc"; @env are up to PROCESS_INFO_ENV_MAX names of
 * variables. Texts are copied. Returns 0 or -ENOMEM.
 */
int process_info_store_new(struct process_info_store **out, const char *proc,
			   const char *const *env, size_t n_env);
void process_info_store_free(struct process_info_store *s);

/*
 * Reads up to @cap bytes of a process's environment. Returns their number or -errno. Reader threads
 * call it, and wait as long as it does.
 */
typedef ssize_t (*process_info_environ_fn)(uint32_t pid, char *out, size_t cap);

/* Replaces the reading of PROC/PID/environ. Call it before process_info_store_start(). */
void process_info_store_set_environ(struct process_info_store *s, process_info_environ_fn read);

DEFINE_FREEP(struct process_info_store, process_info_store_free)

/*
 * Starts the threads that read processes; from now on process_info_store_note() does not
 * block. Returns 0 or -errno.
 */
int process_info_store_start(struct process_info_store *s);

/*
 * A text from /proc may be another program's, if the process calls exec or ends meanwhile. From now
 * on it counts only once @ran_until has confirmed that the program that began as @pid at
 * @start_ns still ran at @until_ns or, with @any_program, that its process did. Texts
 * that are not confirmed are dropped. Until then an entry is pending.
 */
typedef bool (*process_info_ran_fn)(void *ctx, uint32_t pid, uint64_t start_ns, uint64_t until_ns,
				    bool any_program);
void process_info_store_set_confirm(struct process_info_store *f, process_info_ran_fn ran_until,
				    void *ctx);

/*
 * Confirms what has been read. Call it on the noting thread when all events of processes have been
 * applied, once per window. No other thread may use a struct process_info meanwhile.
 */
void process_info_store_confirm(struct process_info_store *f);

/*
 * Waits until everything noted has been read, or CLOCK_MONOTONIC reaches @deadline_ns. Used at the
 * end of the agent, so that its last window has labels.
 */
void process_info_store_wait(struct process_info_store *s, uint64_t deadline_ns);

/*
 * Notes a process. Cheap for one that is known. Without memory the process stays unknown and has
 * fallback labels.
 */
void process_info_store_note(struct process_info_store *s, const struct process_info_key *of);

/*
 * Returns a process with what has been read of it so far, or NULL if it was not noted.
 * Borrowed until it is reaped.
 */
struct process_info *process_info_store_find(struct process_info_store *s, uint32_t pid,
					     uint64_t start_ns);

/*
 * Removes processes for which @ended returned true in three calls. Call it once per window:
 * the last samples of an ended process can still be labelled. No other thread may use a
 * struct process_info meanwhile.
 */
typedef bool (*process_info_ended_fn)(void *ctx, uint32_t pid, uint64_t start_ns);
void process_info_store_reap(struct process_info_store *s, process_info_ended_fn ended, void *ctx);

size_t process_info_store_count(struct process_info_store *s);

/*
 * Returns the value of variable @name in @len bytes of /proc/PID/environ; NULL if it is not
 * set or is cut off by @len. Borrowed from the text.
 */
const char *process_info_env_value(const char *environ_text, size_t len, const char *name);
