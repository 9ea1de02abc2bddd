/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From a record of the ring to a stack that is counted: what was not walked is walked here,
 * frames of virtual machines are put where they belong. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/collect.h"
#include "base/cleanup.h"
#include "bpf/shared/abi.h"

struct jits;
struct langs;
struct offcpu;
struct procs;
struct records;
struct sampler;
struct unwind_walker;

struct records_opts {
	/* Kept. */
	struct sampler *sampler;
	struct unwind_walker *walker;
	struct langs *langs;
	struct procs *procs;
	struct jits *jits;
	/* Take in what processes did before @time_ns, unless that was done; UINT64_MAX: up to now.
	 */
	void (*take_in)(void *ctx, uint64_t time_ns);
	/* Build the unwind table of a file. */
	void (*need_file)(void *ctx, uint32_t file);
	/* A thread has its first sample in this window. May be NULL. */
	void (*on_thread)(void *ctx, const struct collect_thread *thread, uint32_t ppid);
	void *ctx, *thread_ctx;
	bool keep_times, keep_cpus, exclude_self; /* as struct session_opts has them */
	uint32_t max_stack;
	size_t max_counts_bytes;
};

struct records_stats {
	uint64_t n_samples;  /* counted */
	uint64_t n_excluded; /* our own */
	uint64_t n_bad;
	uint64_t n_no_room;    /* samples that max_counts_bytes kept out */
	uint64_t n_complete;   /* stacks that reach their outermost frame, or need none */
	uint64_t n_raw;        /* walked by the agent */
	uint64_t n_raw_failed; /* whose process was gone unseen */
	uint64_t walk_errors[WALK_ERR_MAX];    /* why the others end early */
	uint64_t n_off_stacks, n_off_complete; /* of threads that wait; not among those above */
};

/* 0 or -ENOMEM. */
int records_new(struct records **out, const struct records_opts *opts);
void records_free(struct records *r);

DEFINE_FREEP(struct records, records_free)

enum records_how {
	RECORDS_ASLEEP = 1u << 0, /* of a thread that waits, which may have gone on meanwhile */
	RECORDS_NO_TABLES =
		1u << 1, /* there is no time to build tables: a stack ends where it wants one */
};

/* Take in a record; it is believed only as far as it is long. @now_ns: of this turn. */
void records_take(struct records *r, const void *record, size_t len, unsigned int how,
		  uint64_t now_ns);

/* Whose record it is. */
struct collect_thread records_thread(struct records *r, const struct record_header *h);
/* Our own process's, or a child's. */
bool records_is_own(struct records *r, const struct record_header *h);

struct offcpu *records_off(struct records *r);
struct collect *records_collect(struct records *r);
/* Count into @fresh from now on; what was counted so far is the caller's. */
struct collect *records_swap_collect(struct records *r, struct collect *fresh);
void records_keep_cpus(struct records *r, bool keep);
void records_stats(const struct records *r, struct records_stats *out);
