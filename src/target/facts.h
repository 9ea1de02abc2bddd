/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What is noted of a process when it is first sampled, since later it may be
 * gone: its cgroup, its program, some variables of its environment. One thread
 * notes and reaps, another may find meanwhile. Variables and where the program is may take
 * the process's locks: they are read by threads of this module, once it is told to.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "target/target_labels.h"

struct facts;

enum { FACTS_ENV_MAX = 16 };

struct facts_process {
	uint64_t start_ns;
	uint32_t pid;
	char comm[16];
	char *exe;    /* as the process sees it; "" for a kernel thread */
	char *cgroup; /* text of /proc/PID/cgroup, or of its parent's; "" if both were gone */
	char *env[FACTS_ENV_MAX]; /* values of the variables asked for; NULL: not set */
	bool is_read;             /* else @env is empty and @exe what was said when it was noted: */
	bool waits;               /* for now; or for ever */

	/* The labeler's: what it made of this, and when. */
	struct target_labels labels;
	uint64_t labels_until_ns;
	bool dropped;

	uint8_t n_ended; /* how often it was found to have ended */
};

/* What a process is told by. */
struct facts_of {
	uint32_t pid, ppid;
	uint64_t start_ns;
	const char *comm, *exe;
};

/* @proc: "/proc"; @env: up to FACTS_ENV_MAX names. Texts are copied. 0 or -ENOMEM. */
int facts_new(struct facts **out, const char *proc, const char *const *env, size_t n_env);
void facts_free(struct facts *f);

DEFINE_FREEP(struct facts, facts_free)

/* From now on nobody who notes waits for a process. 0 or -errno. */
int facts_start(struct facts *f);

/* Wait until all that was noted is read, or CLOCK_MONOTONIC says @deadline_ns. */
void facts_settle(struct facts *f, uint64_t deadline_ns);

/* Cheap for a process that was noted before. */
void facts_note(struct facts *f, const struct facts_of *of);

/* NULL if it was not noted. Borrowed until it is reaped; with what was read up to now. */
struct facts_process *facts_find(struct facts *f, uint32_t pid, uint64_t start_ns);

/*
 * Forget those that @ended has said thrice have ended: once a window, so that the
 * last samples of a process are labelled. Nobody may be using any of them.
 */
typedef bool (*facts_ended_fn)(void *ctx, uint32_t pid, uint64_t start_ns);
void facts_reap(struct facts *f, facts_ended_fn ended, void *ctx);

size_t facts_count(struct facts *f);

/* The value of variable @name in the text of /proc/PID/environ; NULL if it is not set. Bounded by
 * @len. */
const char *facts_env_value(const char *environ_text, size_t len, const char *name);
