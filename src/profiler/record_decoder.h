/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Turns records of the ring buffer into counted stacks: validates them, walks the stacks that
 * the BPF program could not walk, inserts the frames of language runtimes, and adds the
 * result to the sample counts. The time of waits goes through offcpu.h first. It does not
 * symbolize. One thread, the sampling one.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bpf/shared/abi.h"
#include "profiler/memory_records.h"
#include "profiler/sample_counts.h"

struct jit_symbols;
struct langs;
struct offcpu;
struct process_table;
struct record_decoder;
struct sampler;
struct unwind_walker;

struct record_decoder_opts {
	/* All of these are borrowed. */
	struct sampler *sampler;
	struct unwind_walker *walker;
	struct langs *langs;
	struct process_table *procs;
	struct jit_symbols *jits;
	struct memory_records memory; /* the receivers of records of memory */
	/*
	 * Applies the events of processes before @time_ns (CLOCK_MONOTONIC) that were not applied
	 * yet; UINT64_MAX: all up to now.
	 */
	void (*sync_processes)(void *ctx, uint64_t time_ns);
	/*
	 * Has the unwind table of a file made, and waits for it if @may_wait. Returns true if that
	 * was done; false if it is still being made: a record that needs it is parked.
	 */
	bool (*build_table)(void *ctx, uint32_t file, bool may_wait);
	/* Returns true while the table of a file is being made. */
	bool (*is_pending)(void *ctx, uint32_t file);
	/* Called for a thread's first sample in this window. May be NULL. */
	void (*on_thread)(void *ctx, const struct sample_counts_thread *thread, uint32_t ppid);
	void *ctx, *thread_ctx;
	bool keep_times, keep_cpus, exclude_self; /* see struct session_opts */
	bool wakers;                              /* see struct sampler_opts */
	uint32_t max_stack;
	size_t max_counts_bytes;
	size_t max_parked_bytes; /* of records that wait for tables; beyond, stacks end there */
};

struct record_decoder_stats {
	uint64_t n_samples;  /* counted */
	uint64_t n_excluded; /* of this process and its children */
	/* Samples, and waits, of programs that rules exclude, recorded before the kernel knew. */
	uint64_t n_excluded_late, n_off_excluded;
	uint64_t n_bad;
	uint64_t
		n_no_room; /* not counted, because max_counts_bytes was reached or memory ran out */
	uint64_t n_complete;   /* stacks that reach their outermost frame by rules, or need none */
	uint64_t n_searched;   /* complete, but a caller was found by search */
	uint64_t n_raw;        /* walked in user space */
	uint64_t n_raw_failed; /* raw, and the process ended before it was read */
	uint64_t n_parked;     /* raw, and had to wait for an unwind table */
	uint64_t walk_errors[WALK_ERR_MAX]; /* why the other stacks end early */
	uint64_t n_vm_truncated;   /* stacks whose interpreted frames are unreadable or too many */
	uint64_t n_labels_dropped; /* of contexts: too many, too long, or of unknown keys */
	uint64_t n_bad_contexts;
	uint64_t n_unlabelled;    /* samples beyond SAMPLE_LABELS_MAX sets in a window */
	uint64_t n_off_no_memory; /* stacks of waits for which there was no memory */
	/* of waiting threads, not included above; complete by rules */
	uint64_t n_off_stacks, n_off_complete;
};

/* @opts is copied. Returns 0 or -ENOMEM. */
int record_decoder_new(struct record_decoder **out, const struct record_decoder_opts *opts);
void record_decoder_free(struct record_decoder *r);

DEFINE_FREEP(struct record_decoder, record_decoder_free)

enum record_decoder_flags {
	RECORD_ASLEEP = 1u << 0, /* of a waiting thread, which may have resumed since */
	RECORD_NO_TABLES =
		/* Build no unwind tables, for lack of time: a stack ends where one is missing. */
	1u << 1,
};

/*
 * Processes a record of @len bytes. A record whose fields announce more than @len bytes is invalid
 * (n_bad). @flags is a set of enum record_decoder_flags, @now_ns the time of this turn.
 */
void record_decoder_add(struct record_decoder *r, const void *record, size_t len,
			unsigned int flags, uint64_t now_ns);

/*
 * Processes the parked records whose tables have been made since, or which have waited for too
 * long; with RECORD_NO_TABLES in @flags, all of them.
 */
void record_decoder_resume(struct record_decoder *r, unsigned int flags, uint64_t now_ns);

/* Number of parked records, and the time of the oldest; UINT64_MAX if there is none. */
size_t record_decoder_n_parked(const struct record_decoder *r);
uint64_t record_decoder_parked_since_ns(const struct record_decoder *r);

/* Identifies the thread that a record is about. */
struct sample_counts_thread record_decoder_thread(struct record_decoder *r,
						  const struct record_header *h);
/* Returns true if the record is about this process or one of its children. */
bool record_decoder_is_own(struct record_decoder *r, const struct record_header *h);

/* The off-CPU accounting and the counts of the present window; borrowed. */
struct offcpu *record_decoder_offcpu(struct record_decoder *r);
struct sample_counts *record_decoder_counts(struct record_decoder *r);
/*
 * Counts into @fresh from now on, which it owns. Returns the previous counts, owned by the
 * caller.
 */
struct sample_counts *record_decoder_swap_counts(struct record_decoder *r,
						 struct sample_counts *fresh);
void record_decoder_set_keep_cpus(struct record_decoder *r, bool keep);
void record_decoder_stats(const struct record_decoder *r, struct record_decoder_stats *out);
