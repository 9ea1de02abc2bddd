/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Names of generated code, as far as runtimes tell them: perf maps and
 * jitdumps, by process. They are opened when a process first shows generated
 * code, since they can be found and their owner checked only while it runs.
 * jits_note() is the sampling thread's, the rest may be another's: reading
 * what a runtime has written holds up no sampling.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct jits;
struct procs;

struct jits_function {
	const char *name; /* borrowed until the next call */
	const char *file; /* "" if not known */
	uint32_t line;
};

/* Keeps @procs. 0 or -ENOMEM. */
int jits_new(struct jits **out, struct procs *procs);
void jits_free(struct jits *j);

DEFINE_FREEP(struct jits, jits_free)

/* Generated code of @pid was sampled. Cheap for a process noted before. */
void jits_note(struct jits *j, uint32_t pid, uint64_t start_ns);

/* Read what the runtimes have appended since; before a batch of lookups. */
void jits_refresh(struct jits *j);

/*
 * Forget those of processes that @ended has said thrice have ended or run another
 * program: once a window, so that its last samples are named. Only the sampling thread,
 * while no other names.
 */
typedef bool (*jits_ended_fn)(void *ctx, uint32_t pid, uint64_t start_ns);
void jits_reap(struct jits *j, jits_ended_fn ended, void *ctx);

size_t jits_bytes(struct jits *j);

/* The function of @pid at @addr: 0 or -ENOENT. */
int jits_find(struct jits *j, uint32_t pid, uint64_t addr, struct jits_function *out);
