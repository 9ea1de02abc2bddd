/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Translates frame words (bpf/shared/abi.h) into pprof locations: mapping, address and functions.
 * Words are passed in batches, because the native symbolizer works file by file. Symbols of files,
 * of the kernel and of native addresses are cached between batches. It does not count or group
 * samples: symbolize.h does.
 *
 * One thread, which need not be the one that samples; opts->lock then protects what the two
 * share.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "symbol/symbolizer.h"
#include "symbolize/name_loss.h"

struct err;
struct file_table;
struct jit_symbols;
struct langs;
struct resident;
struct frame_symbols;
struct profile;

/* A frame to resolve. frame_symbols_resolve() sets the members below pid. */
struct frame_location {
	uint64_t word;
	/*
	 * The program of a FRAME_ADDRESS word, since the same address holds other code in each
	 * program: the time at which it began, and its pid. Both are 0 for the other kinds.
	 */
	uint64_t start_ns;
	uint32_t pid;
	uint32_t location;   /* id of the location in the profile */
	uint8_t lost;        /* enum name_loss: the reason why it has no name */
	bool is_approximate; /* its line is that of the nearest known position in the code */
	uint8_t kind;        /* enum profile_frame_kind */
};

struct frame_symbols_opts {
	struct file_table *files;
	struct jit_symbols *jits;
	struct langs *langs;
	const struct resident *resident; /* has the texts of FRAME_TEXT words; may be NULL */
	pthread_mutex_t *lock;      /* protects files and langs; NULL: no other thread uses them */
	size_t address_cache_bytes; /* limit of the address cache in bytes; 0: none */
	/*
	 * RSS limit of the symbolizer's worker process, including files that it has mapped.
	 * Above it, the worker is restarted. 0: none.
	 */
	size_t worker_rss_bytes;
	/* While this is set, frame_symbols_prefetch() returns soon with -EAGAIN. May be NULL. */
	const atomic_bool *must_yield;
	/* Counts the BPF programs that are loaded and unloaded; NULL if they are not counted. */
	const _Atomic uint32_t *kernel_changes;
	struct symbolizer_opts symbolizer;
};

/* @opts is copied; all that it points to is borrowed. Returns 0 or -ENOMEM. */
int frame_symbols_new(struct frame_symbols **out, const struct frame_symbols_opts *opts);
void frame_symbols_free(struct frame_symbols *l);

DEFINE_FREEP(struct frame_symbols, frame_symbols_free)

/*
 * Looks up all of @words in one batch, so that frame_symbols_resolve() of parts of them finds
 * them in the cache. Changes nothing in @words. Returns 0, -ENOMEM, or -EAGAIN if it yielded
 * with work left.
 */
int frame_symbols_prefetch(struct frame_symbols *l, const struct frame_location *words, size_t n);

/*
 * Adds the locations of all of @words to @p and stores their ids. A word without a symbol gets a
 * location with a bracketed name, so that no frame is missing in a stack. Does not reorder @words.
 * Returns 0 or -ENOMEM.
 */
int frame_symbols_resolve(struct frame_symbols *l, struct profile *p, struct frame_location *words,
			  size_t n);

/* Counters of the native symbolizer since the start; a replaced symbolizer is included. */
void frame_symbols_counters(const struct frame_symbols *l, struct symbolizer_counters *out);

/* Returns the pid of the symbolizer's worker process; 0: none runs. */
int frame_symbols_worker_pid(const struct frame_symbols *l);

/* Memory held by symbols and symbol tables, in bytes. */
size_t frame_symbols_bytes(const struct frame_symbols *l);

/*
 * Frees everything that is kept only to speed up later batches. Locations that were added to
 * profiles stay valid, since profiles have copies.
 */
void frame_symbols_trim(struct frame_symbols *l);

/* Call this after a batch when the next one may be far off: frees what only lookups need. */
void frame_symbols_end_batch(struct frame_symbols *l);
